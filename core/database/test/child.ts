import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Starts a script of this folder in a separate process, with JSON facts as its argument. */
export function startChild(script: string, facts: object): ChildProcess {
  return fork(fileURLToPath(new URL(script, import.meta.url)), [JSON.stringify(facts)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
}

/** In the child: the facts that {@link startChild} was given. A child does not outlive its test run. */
export function childFacts<T>(): T {
  process.once('disconnect', () => process.exit());
  return JSON.parse(process.argv[2] ?? '{}') as T;
}

/** Waits for a process to exit. @returns its exit code */
export function exitCode(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once('exit', (code) => resolve(code)));
}
