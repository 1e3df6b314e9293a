interface Failures {
  /** Monotonic milliseconds of the recent ones, oldest first. */
  readonly times: number[];
  /** Monotonic milliseconds until which the address is refused; 0 = it is not. */
  blockedUntil: number;
}

const allowedFailures = 5;
const windowMs = 60_000;
const blockMs = 300_000;
const sweepAbove = 1_000;

/** Counts failed authentications of sockets by address: 5 in a minute shut it out for 5 minutes. */
export class AuthFailures {
  readonly #addresses = new Map<string, Failures>();

  /** Seconds for which the address is still shut out; 0 = it is not. */
  blockedFor(address: string, now: number): number {
    const until = this.#addresses.get(address)?.blockedUntil ?? 0;
    return until > now ? Math.ceil((until - now) / 1000) : 0;
  }

  add(address: string, now: number): void {
    if (this.#addresses.size >= sweepAbove) this.#sweep(now);
    const failures = this.#addresses.get(address) ?? { times: [], blockedUntil: 0 };
    this.#addresses.set(address, failures);
    while ((failures.times[0] ?? now) < now - windowMs) failures.times.shift();
    failures.times.push(now);
    if (failures.times.length < allowedFailures) return;
    failures.blockedUntil = now + blockMs;
    failures.times.length = 0;
  }

  #sweep(now: number): void {
    for (const [address, { times, blockedUntil }] of this.#addresses) {
      if (blockedUntil <= now && (times.at(-1) ?? 0) < now - windowMs) this.#addresses.delete(address);
    }
  }
}
