/** How long one holder may keep the others waiting, milliseconds. */
const patienceMs = 250;

/**
 * Lets one import run at a time, so that a crash can be put on the account of the module that was being loaded. A module
 * that waits at its top level gives its turn up after a moment: it must not hold up the others.
 */
export class Turn {
  #last: Promise<void> = Promise.resolve();

  async take(): Promise<() => void> {
    const before = this.#last;
    let done: () => void = () => undefined;
    const timer = { handle: undefined as NodeJS.Timeout | undefined };
    this.#last = new Promise((resolve) => {
      done = () => {
        clearTimeout(timer.handle);
        resolve();
      };
    });
    await before;
    timer.handle = setTimeout(done, patienceMs);
    return done;
  }
}
