import { randomBytes, randomUUID } from 'node:crypto';

/** 32 lower-case hex digits. */
export function newHexId(): string {
  return randomUUID().replaceAll('-', '');
}

export function newCorrelationId(): string {
  return `corr-${randomBytes(8).toString('hex')}`;
}
