import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';

/** Time limit for a line or an exit, in milliseconds. */
const patience = 15_000;

interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A child process whose output can be awaited. */
export interface Running {
  readonly child: ChildProcess;
  /** Output of it and its children so far. */
  readonly text: () => string;
  readonly errors: () => string;
  /** Lines of stdout with this beginning. */
  lines(beginning: string): string[];
  /** Waits until stdout has that many lines with this beginning, and returns the last. */
  line(beginning: string, count?: number): Promise<string>;
  /** Closes stdin, which ends the fake server. */
  closeInput(): void;
  readonly ended: Promise<Ending>;
}

export function run(command: string, args: readonly string[], options: SpawnOptions): Running {
  const child = spawn(command, args, { ...options, stdio: ['pipe', 'pipe', 'pipe'] });
  let text = '';
  let errors = '';
  child.stdout?.on('data', (chunk) => (text += chunk));
  child.stderr?.on('data', (chunk) => (errors += chunk));
  const lines = (beginning: string) => text.split('\n').filter((line) => line.startsWith(beginning));
  const ended = new Promise<Ending>((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error(`Still running.\n${text}\n${errors}`)), patience);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(limit);
      resolve({ code, signal });
    });
  });
  ended.catch(() => child.kill('SIGKILL'));
  return {
    child,
    text: () => text,
    errors: () => errors,
    lines,
    async line(beginning, count = 1) {
      const until = Date.now() + patience;
      for (;;) {
        const found = lines(beginning)[count - 1];
        if (found !== undefined) return found;
        if (Date.now() > until) throw new Error(`No "${beginning}" (${count}).\n${text}\n${errors}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    closeInput() {
      child.stdin?.end();
    },
    ended,
  };
}
