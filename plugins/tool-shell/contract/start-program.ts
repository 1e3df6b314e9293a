import { spawn } from 'node:child_process';
import { startDeadline } from 'mortise/sdk';
import { guardCommand } from './guard-command.js';
import { OutputBuffer } from './output-buffer.js';
import { killTree, watchProcesses } from './process-tree.js';

/** A program and its arguments. */
export interface CommandLine {
  readonly file: string;
  readonly args: readonly string[];
}

export interface StartOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Processes of the session that are allowed. */
  readonly processLimit: number;
  /** Bytes of output that are kept until they are read. */
  readonly outputLimit: number;
}

/** How a command ended. A signal counts as 128 and its number, as in a shell. */
export interface CommandEnd {
  readonly exitCode: number;
  /** It had too many processes and was ended. */
  readonly exceeded: boolean;
}

/** A command that was started, in a process session of its own that is ended as a whole. */
export interface RunningCommand {
  readonly output: OutputBuffer;
  readonly end: CommandEnd | undefined;
  /** Types into the terminal; undefined without one. */
  readonly type: ((chars: string) => void) | undefined;
  /** Resolves at the next output, or at the end. */
  changed(): Promise<void>;
  ended(): Promise<CommandEnd>;
  kill(): void;
}

/** A started program whose output and end are reported to it, whatever connects it to this process. */
export class Command implements RunningCommand {
  readonly output: OutputBuffer;
  readonly type: ((chars: string) => void) | undefined;
  end: CommandEnd | undefined;
  readonly #pid: number;
  readonly #unwatch: () => void;
  readonly #unguard: () => void;
  #exceeded = false;
  #waiting: (() => void)[] = [];

  constructor(
    pid: number,
    { processLimit, outputLimit }: Pick<StartOptions, 'processLimit' | 'outputLimit'>,
    type?: (chars: string) => void,
  ) {
    this.output = new OutputBuffer(outputLimit);
    this.#pid = pid;
    this.type = type;
    this.#unguard = guardCommand(pid);
    this.#unwatch = watchProcesses(pid, processLimit, () => {
      this.#exceeded = true;
    });
  }

  wrote(chunk: Buffer): void {
    this.output.add(chunk);
    this.#wake();
  }

  exited(exitCode: number): void {
    if (this.end) return;
    this.#unwatch();
    this.end = { exitCode, exceeded: this.#exceeded };
    // What the command left behind in the background ends with it.
    killTree(this.#pid);
    this.#unguard();
    this.#wake();
  }

  changed(): Promise<void> {
    if (this.end) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async ended(): Promise<CommandEnd> {
    while (!this.end) await this.changed();
    return this.end;
  }

  kill(): void {
    if (!this.end) killTree(this.#pid);
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

/** Exit code of a command that took too long, as of the program `timeout`. */
const timedOut = 124;

/**
 * Waits for the end of a command, and kills it when its time is over or the signal is aborted.
 *
 * @returns its end and its output; the exit code is 124 when its time was over
 */
export async function runToEnd(
  running: RunningCommand,
  limitMs: number,
  signal: AbortSignal,
): Promise<CommandEnd & { readonly text: string }> {
  const deadline = startDeadline(limitMs, signal);
  const kill = (): void => running.kill();
  deadline.signal.addEventListener('abort', kill, { once: true });
  if (deadline.signal.aborted) kill();
  try {
    const { exitCode, exceeded } = await running.ended();
    signal.throwIfAborted();
    return { exitCode: deadline.expired ? timedOut : exitCode, exceeded, text: running.output.take().trimEnd() };
  } finally {
    deadline.signal.removeEventListener('abort', kill);
    deadline.close();
  }
}

/** Signals that end commands, by name. */
const signals: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGSEGV: 11, SIGTERM: 15 };

/** A process in a session of its own may hold the pipe of a command that has ended: it is not waited for any longer. */
const lastOutputMs = 2_000;

/**
 * Starts a program without input, its output and its errors in one buffer, in a session that is ended as a whole.
 *
 * @throws what the system answered when the program cannot be started
 */
export function startProgram({ file, args }: CommandLine, options: StartOptions): Promise<RunningCommand> {
  const { cwd, env } = options;
  const child = spawn(file, [...args], { cwd, env: { ...env }, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => {
      const command = new Command(child.pid ?? 0, options);
      child.stdout.on('data', (chunk: Buffer) => command.wrote(chunk));
      child.stderr.on('data', (chunk: Buffer) => command.wrote(chunk));
      child.once('exit', (code, signal) => {
        const exitCode = code ?? 128 + (signals[signal ?? ''] ?? 0);
        // What was left in the background holds the pipe open; what it has written is still read.
        command.kill();
        const timer = setTimeout(() => command.exited(exitCode), lastOutputMs);
        child.once('close', () => {
          clearTimeout(timer);
          command.exited(exitCode);
        });
      });
      resolve(command);
    });
  });
}
