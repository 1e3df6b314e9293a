import { createHash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Passes the information that a server crashed to the next launcher for the same data directory. Only the launcher sees
 * how its server ended; without the note the next start could not distinguish a crash from a kill.
 * @typedef {{ take(): boolean, leave(): void }} CrashNote
 */

/** @returns {CrashNote} a note that is never stored */
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
        // On a full or read-only disk the next start treats the crash as a kill.
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
