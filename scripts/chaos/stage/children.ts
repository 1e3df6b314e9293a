import type { ChildProcess } from 'node:child_process';

/** Processes that must not outlive the run, however it ends. */
export interface Children {
  add(child: ChildProcess): void;
  /** Ends those that are left. */
  end(): void;
}

export function createChildren(): Children {
  const living = new Set<ChildProcess>();
  const end = (): void => {
    for (const child of living) child.kill('SIGKILL');
  };
  process.once('exit', end);
  return {
    add(child) {
      living.add(child);
      child.once('exit', () => living.delete(child));
    },
    end() {
      process.off('exit', end);
      end();
    },
  };
}
