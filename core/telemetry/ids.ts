import { randomFillSync } from 'node:crypto';

// Random bytes are drawn in blocks: one call per id would cost a microsecond each.
const block = Buffer.allocUnsafe(4_096);
let used = block.length;

function randomHex(bytes: number): string {
  if (used + bytes > block.length) {
    randomFillSync(block);
    used = 0;
  }
  const hex = block.toString('hex', used, used + bytes);
  used += bytes;
  return hex;
}

const requestIdGrammar = /^[A-Za-z0-9._:-]{1,128}$/;

/** `corr-` and 16 hex digits. Always made here, one per request. */
export function newCorrelationId(): string {
  return `corr-${randomHex(8)}`;
}

/** The client's request id when it is well formed, else 16 hex digits. */
export function acceptRequestId(given: string | undefined): string {
  return given !== undefined && requestIdGrammar.test(given) ? given : randomHex(8);
}

/** 32 hex digits, never all zero. */
export function newTraceId(): string {
  const id = randomHex(16);
  return /^0+$/.test(id) ? newTraceId() : id;
}

/** 16 hex digits, never all zero. */
export function newSpanId(): string {
  const id = randomHex(8);
  return /^0+$/.test(id) ? newSpanId() : id;
}
