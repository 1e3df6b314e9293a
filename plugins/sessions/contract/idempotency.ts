import { createHash } from 'node:crypto';
import { canonicalJson } from 'mortise/sdk';

/** What makes a repeated request return the outcome of the first: the same key and the same body. */
export interface Idempotency {
  readonly key: string;
  /** Lower-case hexadecimal. */
  readonly bodySha256: string;
}

/** The form of an idempotency key. */
export const idempotencyKeyPattern = /^[\x21-\x7e]{1,128}$/;

/** @param body JSON; the order of its members does not matter */
export function idempotencyOf(key: string, body: unknown): Idempotency {
  return { key, bodySha256: createHash('sha256').update(canonicalJson(body)).digest('hex') };
}
