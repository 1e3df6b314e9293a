import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createCrashNote } from './crash-note.mjs';
import { exitCodeOfSignal } from './exit-code.mjs';
import { Failure } from './failure.mjs';
import { endSignals } from './interrupts.mjs';
import { nodeFlags } from './node-flags.mjs';
import { prepare } from './prepare.mjs';
import { createProgress } from './progress.mjs';
import { supervise } from './supervise.mjs';

const errorsShown = 10;

/**
 * `mortise start`: sets up what is missing and runs the server until it ends.
 * @param {string} root
 * @param {readonly string[]} args for the server
 * @returns {Promise<number>} the exit code
 */
export async function runServer(root, args) {
  const progress = createProgress();
  const { node, file } = await ready(root, 'dist/core/main.js', progress);
  return supervise(node, [file, ...args], { say: progress.say, note: createCrashNote(root, args) });
}

/**
 * Every other command of `mortise`: sets up what is missing and runs the CLI on the provided Node.
 * @param {string} root
 * @param {readonly string[]} args
 * @returns {Promise<number>} the exit code
 */
export function runCommand(root, args) {
  return runCompiled(root, 'dist/core/cli/main.js', args);
}

/**
 * Sets up what is missing and runs a compiled file on the provided Node.
 * @param {string} root
 * @param {string} compiled relative to the root
 * @param {readonly string[]} args
 * @returns {Promise<number>} the exit code
 */
export async function runCompiled(root, compiled, args) {
  const { node, file } = await ready(root, compiled, createProgress());
  return new Promise((resolve, reject) => {
    // No messages are sent on the channel; its end means that the launcher was killed.
    const child = spawn(node, [...nodeFlags(), file, ...args], { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
    for (const signal of endSignals) {
      // On a terminal Ctrl-C reaches the command directly, because it is in the same process group.
      process.on(signal, () => (signal === 'SIGINT' && process.stdin.isTTY) || child.kill(signal));
    }
    child.once('error', (error) => reject(new Failure('not_started', { file, reason: error.message })));
    child.once('exit', (code, signal) => resolve(signal ? exitCodeOfSignal(signal) : (code ?? 1)));
  });
}

/**
 * @param {string} root
 * @param {string} file relative to the root
 * @param {ReturnType<typeof createProgress>} progress
 */
async function ready(root, file, progress) {
  const { node, errors } = await prepare(root, { progress });
  const path = join(root, file);
  if (!existsSync(path)) throw new Failure('entry_missing', { file, reason: errors[0] ? ` (${errors[0]})` : '' });
  if (errors.length > 0) {
    progress.say('the sources have type errors; the affected modules may fail to load:');
    for (const error of errors.slice(0, errorsShown)) progress.say(`  ${error}`);
    if (errors.length > errorsShown)
      progress.say(`  and ${errors.length - errorsShown} more; "npm run typecheck" lists all`);
  }
  return { node, file: path };
}
