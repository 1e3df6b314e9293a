import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * That a server crashed, told from one launcher to the next one for the same data directory. Only a launcher sees how
 * a server ended; without its word the next start could not tell a crash from a kill.
 * @typedef {{ take(): boolean, leave(): void }} CrashNote
 */

/** @returns {CrashNote} a note that nobody will find */
export function noCrashNote() {
  return { take: () => false, leave: () => {} };
}

/**
 * @param {string} root of the project
 * @param {readonly string[]} args of the server
 * @param {Readonly<Record<string, string | undefined>>} [env]
 * @returns {CrashNote}
 */
export function createCrashNote(root, args, env = process.env) {
  const folder = join(root, '.runtime', 'crashes');
  const place = JSON.stringify([process.cwd(), dataDirOf(args) ?? env.MORTISE_DATA_DIR ?? null]);
  const file = join(folder, createHash('sha256').update(place).digest('hex').slice(0, 32));
  return {
    take() {
      try {
        rmSync(file);
        return true;
      } catch {
        return false;
      }
    },
    leave() {
      try {
        mkdirSync(folder, { recursive: true });
        writeFileSync(file, '');
      } catch {
        // On a full or read-only disk the next start takes the crash for a kill.
      }
    },
  };
}

/** @param {readonly string[]} args */
function dataDirOf(args) {
  const at = args.findLastIndex((arg) => arg === '--data-dir' || arg.startsWith('--data-dir='));
  const found = args[at];
  return found === '--data-dir' ? args[at + 1] : found?.slice('--data-dir='.length);
}
