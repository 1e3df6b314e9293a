import { spawn } from 'node:child_process';
import { noCrashNote } from './crash-note.mjs';
import { exitCodeOfSignal } from './exit-code.mjs';
import { Failure } from './failure.mjs';
import { endSignals } from './interrupts.mjs';
import { nodeFlags } from './node-flags.mjs';
import { createRestartAllowance, describeEnd, isWorthRestart, restartsAllowed } from './restart.mjs';
import { createSignalRelay } from './signal-relay.mjs';

const windows = process.platform === 'win32';

/**
 * Runs the server to its end and returns the exit code for the launcher: the server's own, or 128 + signal.
 *
 * The server leads its own process group, so that a Ctrl-C reaches it once and only through the launcher, as indicated
 * by MORTISE_SUPERVISED=1. MORTISE_CRASHED=1 means that the previous one crashed. The server holds one end of an IPC channel
 * without messages: when the launcher dies, even by SIGKILL, the server gets `process.on('disconnect')`
 * and drains.
 * @param {string} node
 * @param {readonly [file: string, ...args: string[]]} args
 * @param {{ say: (line: string) => void, note?: import('./crash-note.mjs').CrashNote }} options
 * @returns {Promise<number>}
 */
export async function supervise(node, args, { say, note = noCrashNote() }) {
  const allowance = createRestartAllowance();
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let server;
  let ending = false;
  const relay = createSignalRelay((signal) => {
    ending = true;
    server?.kill(signal);
  });
  // On Windows the console sends Ctrl-C to all its processes; here it only must not end the launcher.
  const onSignal = windows ? () => (ending = true) : relay;
  for (const signal of endSignals) process.on(signal, onSignal);
  try {
    for (let crashed = note.take(); ; crashed = true) {
      const end = await run(node, args, { crashed, onStart: (child) => (server = child) });
      const code = end.signal ? exitCodeOfSignal(end.signal) : (end.code ?? 1);
      if (ending) return code;
      if (!isWorthRestart(end)) {
        if (end.signal) say(`${describeEnd(end)}; it is not started again`);
        return code;
      }
      const restart = allowance.take(end);
      if (restart === 0) {
        note.leave();
        say(
          `${describeEnd(end)}; after ${restartsAllowed} restarts within 10 minutes it is not started again ` +
            '("npm start -- --safe" starts required plugins only)',
        );
        return code;
      }
      say(`${describeEnd(end)}; starting it again (${restart} of ${restartsAllowed} within 10 minutes)`);
    }
  } finally {
    for (const signal of endSignals) process.off(signal, onSignal);
  }
}

/**
 * @param {string} node
 * @param {readonly [file: string, ...args: string[]]} args
 * @param {{ crashed: boolean, onStart: (child: import('node:child_process').ChildProcess) => void }} options
 * @returns {Promise<{ code: number | null, signal: NodeJS.Signals | null }>}
 */
function run(node, args, { crashed, onStart }) {
  return new Promise((resolve, reject) => {
    const server = spawn(node, [...nodeFlags(), ...args], {
      // On Windows a detached process gets a new console window.
      detached: !windows,
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      // An inherited value does not apply to this server.
      env: { ...process.env, MORTISE_SUPERVISED: '1', MORTISE_CRASHED: crashed ? '1' : undefined },
    });
    onStart(server);
    server.once('error', (error) => {
      if (server.pid === undefined) reject(new Failure('not_started', { file: args[0], reason: error.message }));
    });
    server.once('exit', (code, signal) => resolve({ code, signal }));
  });
}
