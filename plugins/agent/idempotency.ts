import { createHash } from 'node:crypto';
import { canonicalJson } from 'mortise/sdk';
import { agentError } from './errors.js';

const visibleAscii = /^[\x21-\x7e]{1,128}$/;

/** The key of a request, from its header or its body, with the hash of what must be equal when it is used again. */
export function readIdempotency(
  header: string | undefined,
  requestId: string | undefined,
  body: unknown,
): { readonly key: string; readonly bodySha256: string } | undefined {
  const key = header ?? requestId;
  if (key === undefined) return undefined;
  if (!visibleAscii.test(key)) {
    throw agentError('invalid_request', { message: 'Idempotency-Key must have 1 to 128 visible ASCII characters' });
  }
  return { key, bodySha256: createHash('sha256').update(canonicalJson(body)).digest('hex') };
}
