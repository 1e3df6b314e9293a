import { AsyncLocalStorage } from 'node:async_hooks';

/** A running handler: submits inside its async context come from its session until it has ended. */
export interface RunningHandler {
  readonly sessionKey: string;
  readonly ended: boolean;
}

/** One storage for all graphs: every AsyncLocalStorage ever used adds cost to each promise for the life of the process. */
const calls = new AsyncLocalStorage<{ readonly graph: WaitGraph; readonly running: RunningHandler }>();

/**
 * Which session's running turn waits for which other session. A submit that closes a cycle could never be handled: the
 * waiting tool blocks the turn it waits for.
 */
export class WaitGraph {
  readonly #waits = new Map<string, Map<string, number>>();

  /** The session whose handler the caller runs in; undefined outside of handlers. */
  get current(): string | undefined {
    const call = calls.getStore();
    return call?.graph === this && !call.running.ended ? call.running.sessionKey : undefined;
  }

  /** Runs a handler so that its submits are attributed to its session. */
  run<A extends readonly unknown[], R>(running: RunningHandler, handler: (...args: A) => R, ...args: A): R {
    return calls.run({ graph: this, running }, handler, ...args);
  }

  /** Whether `target` is `from`, or waits for it directly or through other sessions. */
  wouldDeadlock(from: string, target: string): boolean {
    const seen = new Set<string>();
    const open = [target];
    for (let key = open.pop(); key !== undefined; key = open.pop()) {
      if (key === from) return true;
      if (seen.has(key)) continue;
      seen.add(key);
      open.push(...(this.#waits.get(key)?.keys() ?? []));
    }
    return false;
  }

  /** Records that a turn of `from` waits for `target`, until the returned function is called. */
  wait(from: string, target: string): () => void {
    const targets = this.#waits.get(from) ?? new Map<string, number>();
    this.#waits.set(from, targets);
    targets.set(target, (targets.get(target) ?? 0) + 1);
    return () => {
      const left = (targets.get(target) ?? 1) - 1;
      if (left > 0) targets.set(target, left);
      else targets.delete(target);
      if (targets.size === 0) this.#waits.delete(from);
    };
  }
}
