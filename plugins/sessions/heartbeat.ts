export interface Heartbeat {
  /** Stops the timer; resolves when a renewal in progress has finished. */
  stop(): Promise<void>;
}

interface HeartbeatOptions {
  readonly ttlMs: number;
  /** False: the lease is lost. Rejects when the database does not answer. */
  readonly renew: () => Promise<boolean>;
  /** Called at most once, when another owner may have claimed the session. */
  readonly onLost: () => void;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

/**
 * Renews a lease every third of its TTL (50 ms to 20 s). A failed renewal is retried sooner; when none has succeeded
 * within nine tenths of the TTL, the holder gives up before another owner may claim the session.
 */
export function startHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { ttlMs, renew, onLost } = options;
  const now = options.now ?? (() => performance.now());
  const interval = Math.min(Math.max(ttlMs / 3, 50), 20_000);
  const retry = Math.max(Math.min(1_000, ttlMs / 10), 1);
  let stopped = false;
  let lastSuccess = now();
  let renewing: Promise<void> | undefined;
  let timer = setTimeout(tick, interval).unref();

  function tick(): void {
    renewing = renewOnce().finally(() => {
      renewing = undefined;
    });
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
    if (held === true) lastSuccess = startedAt;
    if (held === false || now() >= lastSuccess + 0.9 * ttlMs) {
      stopped = true;
      onLost();
      return;
    }
    const untilGivingUp = Math.max(lastSuccess + 0.9 * ttlMs - now(), 1);
    timer = setTimeout(tick, Math.min(held === true ? interval : retry, untilGivingUp)).unref();
  }

  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await renewing;
    },
  };
}
