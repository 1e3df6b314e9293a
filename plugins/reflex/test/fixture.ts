/** A manual clock with timers. */
export class ManualClock {
  now = 0;
  #timers: { readonly at: number; readonly run: () => void; live: boolean }[] = [];

  readonly after = (ms: number, run: () => void): (() => void) => {
    const timer = { at: this.now + ms, run, live: true };
    this.#timers.push(timer);
    return () => {
      timer.live = false;
    };
  };

  advance(ms: number): void {
    const until = this.now + ms;
    for (;;) {
      const due = this.#timers.filter(({ live, at }) => live && at <= until).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      due.live = false;
      this.now = due.at;
      due.run();
    }
    this.now = until;
  }
}
