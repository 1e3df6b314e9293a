import { spawn } from 'node:child_process';
import { exitCodeOfSignal } from './exit-code.mjs';
import { Failure } from './failure.mjs';
import { endSignals } from './interrupts.mjs';
import { createRestartAllowance } from './restart.mjs';
import { createSignalRelay } from './signal-relay.mjs';

/** With these the product's entries run, so that plugins dropped in as TypeScript load on every supported Node. */
export const nodeFlags = ['--experimental-strip-types', '--disable-warning=ExperimentalWarning'];

const windows = process.platform === 'win32';

/**
 * Runs the server to its end and returns the exit code for the launcher: the server's own, or 128 + signal.
 *
 * The server leads a process group of its own, so that a Ctrl-C reaches it once and through here only. It is told so
 * by MORTISE_SUPERVISED=1, and by MORTISE_RESTARTED=1 when it is a restart. It holds one end of an IPC channel on which
 * nothing is ever said: when the launcher dies, even by SIGKILL, the server gets `process.on('disconnect')` and drains.
 * @param {string} node
 * @param {readonly [file: string, ...args: string[]]} args
 * @param {{ say: (line: string) => void }} options
 * @returns {Promise<number>}
 */
export async function supervise(node, args, { say }) {
  const allowance = createRestartAllowance();
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let server;
  let ending = false;
  const relay = createSignalRelay((signal) => {
    ending = true;
    server?.kill(signal);
  });
  // On Windows the console itself hands Ctrl-C to every process of it; here it is only kept from ending the launcher.
  const onSignal = windows ? () => (ending = true) : relay;
  for (const signal of endSignals) process.on(signal, onSignal);
  try {
    for (let restarted = false; ; restarted = true) {
      const end = await run(node, args, { restarted, onStart: (child) => (server = child) });
      const words = end.signal ? `by ${end.signal}` : `with code ${end.code}`;
      if (ending || !allowance.take(end)) return end.signal ? exitCodeOfSignal(end.signal) : (end.code ?? 1);
      say(`the server ended ${words}; starting it again, once`);
    }
  } finally {
    for (const signal of endSignals) process.off(signal, onSignal);
  }
}

/**
 * @param {string} node
 * @param {readonly [file: string, ...args: string[]]} args
 * @param {{ restarted: boolean, onStart: (child: import('node:child_process').ChildProcess) => void }} options
 * @returns {Promise<{ code: number | null, signal: NodeJS.Signals | null }>}
 */
function run(node, args, { restarted, onStart }) {
  return new Promise((resolve, reject) => {
    const server = spawn(node, [...nodeFlags, ...args], {
      // On Windows a detached process gets a console window of its own.
      detached: !windows,
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, MORTISE_SUPERVISED: '1', ...(restarted ? { MORTISE_RESTARTED: '1' } : {}) },
    });
    onStart(server);
    server.once('error', (error) => {
      if (server.pid === undefined) reject(new Failure('not_started', { file: args[0], reason: error.message }));
    });
    server.once('exit', (code, signal) => resolve({ code, signal }));
  });
}
