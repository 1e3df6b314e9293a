export interface Heartbeat {
  /** Renews no more; resolves when a renewal in progress has finished. The loss of the lease is still reported. */
  finish(): Promise<void>;
  /** Reports nothing more either. */
  stop(): void;
}

/** `taken`: another owner has claimed the session. `unanswered`: the database did not confirm a renewal in time. */
export type LeaseLoss = 'taken' | 'unanswered';

interface HeartbeatOptions {
  readonly ttlMs: number;
  /** False: the lease is lost. Rejects when the database does not answer. */
  readonly renew: () => Promise<boolean>;
  /** Called at most once, when another owner may have claimed the session, or soon may. */
  readonly onLost: (loss: LeaseLoss) => void;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

/**
 * Renews a lease every third of its TTL (50 ms to 20 s). A failed renewal is retried sooner. When none has succeeded
 * within nine tenths of the TTL, the holder gives up before another owner may claim the session: a timer of its own
 * decides that, because a renewal may wait for a database that hangs.
 */
export function startHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { ttlMs, renew, onLost } = options;
  const now = options.now ?? (() => performance.now());
  const interval = Math.min(Math.max(ttlMs / 3, 50), 20_000);
  const retry = Math.max(Math.min(1_000, ttlMs / 10), 1);
  let stopped = false;
  let finishing = false;
  let renewing: Promise<void> | undefined;
  let timer = setTimeout(tick, interval).unref();
  let deadline = giveUpAfter(now());

  function giveUpAfter(success: number): NodeJS.Timeout {
    return setTimeout(() => lose('unanswered'), Math.max(success + 0.9 * ttlMs - now(), 0)).unref();
  }

  function lose(loss: LeaseLoss): void {
    if (stopped) return;
    stop();
    onLost(loss);
  }

  function stop(): void {
    stopped = true;
    clearTimeout(timer);
    clearTimeout(deadline);
  }

  function tick(): void {
    renewing = renewOnce();
  }

  async function renewOnce(): Promise<void> {
    const startedAt = now();
    let held: boolean | undefined;
    try {
      held = await renew();
    } catch {
      held = undefined;
    }
    if (stopped) return;
    if (held === false) return lose('taken');
    if (held === true) {
      clearTimeout(deadline);
      deadline = giveUpAfter(startedAt);
    }
    if (!finishing) timer = setTimeout(tick, held === true ? interval : retry).unref();
  }

  return {
    async finish() {
      finishing = true;
      clearTimeout(timer);
      await renewing;
    },
    stop,
  };
}
