export interface Heartbeat {
  /** Ends it; resolves when a renewal under way has finished. No timer survives. */
  stop(): Promise<void>;
}

export interface HeartbeatOptions {
  readonly ttlMs: number;
  /** False: the lease is not ours any more. Rejects when the database does not answer. */
  readonly renew: () => Promise<boolean>;
  /** Called at most once, when others may have taken over. */
  readonly onLost: () => void;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

/**
 * Renews a lease every third of its life (50 ms to 20 s). A failing database is asked again soon; when no renewal
 * succeeded within nine tenths of the life, the holder gives up before others may take over.
 */
export function startHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { ttlMs, renew, onLost } = options;
  const now = options.now ?? (() => performance.now());
  const interval = Math.min(Math.max(ttlMs / 3, 50), 20_000);
  const retry = Math.max(Math.min(1_000, ttlMs / 10), 1);
  let stopped = false;
  let lastSuccess = now();
  let beating: Promise<void> | undefined;
  let timer = setTimeout(beat, interval).unref();

  function beat(): void {
    beating = renewOnce().finally(() => {
      beating = undefined;
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
    timer = setTimeout(beat, Math.min(held === true ? interval : retry, untilGivingUp)).unref();
  }

  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await beating;
    },
  };
}
