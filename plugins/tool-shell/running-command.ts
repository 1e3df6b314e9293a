import { spawn } from 'node:child_process';
import type { CommandLine } from './command-line.js';
import { shellError } from './errors.js';
import { OutputBuffer } from './output-buffer.js';
import { killTree, watchProcesses } from './process-tree.js';

export const mostOutput = 16 * 1_024;

export interface StartOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** In a terminal of its own. */
  readonly tty: boolean;
  readonly processLimit: number;
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

/** @throws tool_runtime_unavailable when the program cannot be started */
export async function startCommand(line: CommandLine, options: StartOptions): Promise<RunningCommand> {
  return options.tty ? startInTerminal(line, options) : startPlain(line, options);
}

/** What both kinds of commands have in common. */
class Command implements RunningCommand {
  readonly output = new OutputBuffer(mostOutput);
  readonly type: ((chars: string) => void) | undefined;
  end: CommandEnd | undefined;
  readonly #pid: number;
  readonly #unwatch: () => void;
  #exceeded = false;
  #waiting: (() => void)[] = [];

  constructor(pid: number, processLimit: number, type?: (chars: string) => void) {
    this.#pid = pid;
    this.type = type;
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

/** Signals that end commands, by name. */
const signals: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGSEGV: 11, SIGTERM: 15 };

/** Output that is still in the pipe when its command has ended arrives within this time. */
const lastOutputMs = 200;

function startPlain({ file, args }: CommandLine, { cwd, env, processLimit }: StartOptions): Promise<RunningCommand> {
  const child = spawn(file, [...args], { cwd, env: { ...env }, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  return new Promise((resolve, reject) => {
    child.once('error', (cause) =>
      reject(shellError('tool_runtime_unavailable', 'the shell could not be started', { cause })),
    );
    child.once('spawn', () => {
      const command = new Command(child.pid ?? 0, processLimit);
      child.stdout.on('data', (chunk: Buffer) => command.wrote(chunk));
      child.stderr.on('data', (chunk: Buffer) => command.wrote(chunk));
      child.once('exit', (code, signal) => {
        const exitCode = code ?? 128 + (signals[signal ?? ''] ?? 0);
        // A process in the background may hold the pipe open for ever.
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

async function startInTerminal(line: CommandLine, options: StartOptions): Promise<RunningCommand> {
  const { cwd, env, processLimit } = options;
  // Binaries exist for the usual platforms only; elsewhere commands run without a terminal.
  const pty = await import('@lydell/node-pty').catch((cause: unknown) => {
    throw shellError('tool_runtime_unavailable', 'this machine has no terminals for commands', {
      hint: 'Run the command without tty.',
      cause,
    });
  });
  const terminal = pty.spawn(line.file, [...line.args], {
    name: 'xterm',
    cols: 120,
    rows: 40,
    cwd,
    env: { ...env, TERM: 'xterm' },
    encoding: null,
  });
  const command = new Command(terminal.pid, processLimit, (chars) => terminal.write(chars));
  terminal.onData((data: string | Buffer) => command.wrote(typeof data === 'string' ? Buffer.from(data) : data));
  terminal.onExit(({ exitCode, signal }) => command.exited(signal ? 128 + signal : exitCode));
  return command;
}
