const subjectLimit = 1_000;

/** Lets the first of many equal things pass, and then none for a while. */
export class QuietTimes {
  readonly #until = new Map<string, number>();

  /** @param now monotonic milliseconds */
  pass(subject: string, now: number, quietMs: number): boolean {
    if ((this.#until.get(subject) ?? Number.NEGATIVE_INFINITY) > now) return false;
    this.#until.delete(subject);
    this.#until.set(subject, now + quietMs);
    if (this.#until.size > subjectLimit) {
      const [oldest] = this.#until.keys();
      if (oldest !== undefined) this.#until.delete(oldest);
    }
    return true;
  }
}
