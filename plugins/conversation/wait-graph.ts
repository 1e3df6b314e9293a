import { AsyncLocalStorage } from 'node:async_hooks';

interface RunningHandler {
  readonly sessionKey: string;
  ended: boolean;
}

/**
 * Which session's running turn waits for which other session. A submit that would close a circle could never be
 * handled: the tool that waits for it holds up the very turn it waits for.
 */
export class WaitGraph {
  readonly #running = new AsyncLocalStorage<RunningHandler>();
  readonly #waits = new Map<string, Map<string, number>>();

  /** The session whose handler the caller runs in; undefined outside of any. */
  get current(): string | undefined {
    const handler = this.#running.getStore();
    return handler && !handler.ended ? handler.sessionKey : undefined;
  }

  /** Runs a handler, so that what it submits is known to come from its session. */
  async run<T>(sessionKey: string, handler: () => Promise<T>): Promise<T> {
    const running: RunningHandler = { sessionKey, ended: false };
    try {
      return await this.#running.run(running, handler);
    } finally {
      running.ended = true;
    }
  }

  /** Whether `target` is `from` itself or waits, through any number of sessions, for it. */
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

  /** Notes that a turn of `from` waits for `target`, until the returned function is called. */
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
