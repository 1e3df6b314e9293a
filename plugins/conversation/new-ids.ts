import { randomFillSync } from 'node:crypto';

/** Random bytes for many ids: asking the system for a few each time costs more than all the rest. */
const pool = Buffer.allocUnsafe(8_192);
let used = pool.length;

/** 32 lower-case hex digits. */
export function newHexId(): string {
  return randomHex(16);
}

export function newCorrelationId(): string {
  return `corr-${randomHex(8)}`;
}

function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString('hex', used - bytes, used);
}
