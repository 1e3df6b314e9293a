let last = 0n;

/**
 * `<prefix>-<19-digit unix nanoseconds>`, strictly increasing in this process. The wall clock has only milliseconds;
 * the digits below come from the monotonic clock, which keeps two processes apart. A primary key rejects the remaining collisions.
 */
export function newId(prefix: string): string {
  const now = BigInt(Date.now()) * 1_000_000n + (process.hrtime.bigint() % 1_000_000n);
  last = now > last ? now : last + 1n;
  return `${prefix}-${last}`;
}
