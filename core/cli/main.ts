import { endProcess } from '../process/exit.js';
import type { CallingProcess } from './calling-process.js';
import { exitCodes, reportError } from './exit.js';
import { LocalError } from './output.js';
import { isJson, runCommandLine } from './run-command-line.js';
import { translated } from './translated.js';

const interrupt = new AbortController();
/** Time limit of an interrupted command, milliseconds. */
const interruptLimitMs = 10_000;

/** A second signal, or some time after the first, ends even a hanging command. */
function stop(cause: string): void {
  const hangs = interrupt.signal.aborted;
  setTimeout(() => void endProcess(exitCodes.interrupted), hangs ? 0 : interruptLimitMs).unref();
  if (!hangs) interrupt.abort(new Error(cause));
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop(signal));
// The launcher was killed: the output has no reader.
process.on('disconnect', () => stop('disconnect'));
process.channel?.unref();

let exitCode: number = exitCodes.done;
const calling: CallingProcess = {
  args: process.argv.slice(2),
  env: process.env,
  cwd: process.cwd(),
  // Opened on first use: opening makes a pipe non-blocking.
  get stdin() {
    return process.stdin;
  },
  stdout: process.stdout,
  stderr: process.stderr,
  signal: interrupt.signal,
  exitWith: (code) => {
    exitCode = code;
  },
};
let isOutputLost = false;

/** A reader such as `head` may close the pipe early; the command then ends. */
function endWithoutOutput({ code = 'error' }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') process.exit(exitCode);
  // Every write to a full disk fails.
  if (isOutputLost) return;
  isOutputLost = true;
  const sentence = translated('The output cannot be written ({code}).', { code });
  const hint = translated('Write it to another place, or free space on the disk.');
  const lost = new LocalError('output_lost', sentence, { hint, details: { code } });
  reportError(lost, isJson(calling), (text) => process.stderr.write(text, () => process.exit(exitCodes.refused)));
}
process.stdout.on('error', endWithoutOutput);
process.stderr.on('error', ({ code }: NodeJS.ErrnoException) =>
  process.exit(code === 'EPIPE' ? exitCode : exitCodes.refused),
);

await runCommandLine(calling);
process.exitCode = exitCode;
