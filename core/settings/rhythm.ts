export interface Beat {
  readonly key: string;
  /** Milliseconds; 0 = never. */
  readonly everyMs: number;
  run(): Promise<unknown>;
}

const shortest = 20;
const longest = 1_000;

/** Runs several things at intervals of their own on one timer that does not keep the process alive. */
export class Rhythm {
  private readonly now: () => number;
  private readonly due = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> = Promise.resolve();
  private stopped = false;

  constructor(now: () => number) {
    this.now = now;
  }

  /** `beats` is asked at each step: intervals may come and go. */
  start(beats: () => readonly Beat[]): void {
    if (this.timer !== undefined || this.stopped) return;
    const wait = (): void => {
      const intervals = beats()
        .map((beat) => beat.everyMs)
        .filter((ms) => ms > 0);
      this.timer = setTimeout(step, Math.max(shortest, Math.min(longest, ...intervals)));
      this.timer.unref();
    };
    const step = (): void => {
      this.running = this.beat(beats()).finally(() => {
        if (!this.stopped) wait();
      });
    };
    wait();
  }

  private async beat(beats: readonly Beat[]): Promise<void> {
    const now = this.now();
    for (const beat of beats) {
      if (beat.everyMs <= 0 || now < (this.due.get(beat.key) ?? 0)) continue;
      this.due.set(beat.key, now + beat.everyMs - shortest);
      // One file that cannot be looked at must not stop the others from being watched.
      await beat.run().catch(() => undefined);
    }
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.running;
  }
}
