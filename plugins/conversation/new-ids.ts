import { randomUUID } from 'node:crypto';

/** 32 lower-case hex digits. */
export function newHexId(): string {
  return randomUUID().replaceAll('-', '');
}

export function newCorrelationId(): string {
  // From the pool that Node fills for UUIDs: asking the system for a few bytes each time costs more than the rest.
  const digits = newHexId();
  return `corr-${digits.slice(0, 8)}${digits.slice(24)}`;
}
