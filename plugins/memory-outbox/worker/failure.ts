import type { FailureClass, OutboxRow } from 'mortise/contracts/logbook';
import type { FailedDelivery } from 'mortise/contracts/memory-gateway';
import type { Config } from '../config.generated.js';

interface Backoff {
  /** Seconds before the first retry. */
  readonly base: number;
  /** Upper bound in seconds, before jitter. */
  readonly max: number;
}

const JITTER = 0.3;

/**
 * Exponential back-off in whole seconds with 30 % jitter, so that rows that failed together do not retry together.
 *
 * @param retries earlier attempts
 * @param random in [0, 1)
 */
export function backoffSeconds(retries: number, { base, max }: Backoff, random: number): number {
  const wait = Math.min(base * 2 ** retries, max);
  return Math.max(1, Math.trunc(wait * (1 + JITTER * (2 * random - 1))));
}

/** The decision on a row that could not be delivered. */
export type Verdict =
  | { readonly kind: 'dead'; readonly error: string; readonly errorClass: FailureClass }
  | {
      readonly kind: 'retry';
      readonly error: string;
      readonly errorClass: FailureClass;
      readonly delaySeconds: number;
      readonly verifyFirst: boolean;
    };

const HOUR_MS = 3_600_000;
const MAX_ERROR_LENGTH = 500;

/** `now`: the database's clock, epoch milliseconds; `random`: in [0, 1). */
interface Circumstances {
  readonly now: number;
  readonly random: number;
}

/**
 * Decides whether a failed row is retried. It is dead if it was refused permanently, failed too often (`unavailable` does
 * not count), or is too old. A retry is not due before the backend's `Retry-After`.
 */
export function judgeFailure(row: OutboxRow, failed: FailedDelivery, config: Config, at: Circumstances): Verdict {
  const error = (failed.mergedInto === null ? failed.message : `merged_into:${failed.mergedInto}`).slice(
    0,
    MAX_ERROR_LENGTH,
  );
  const errorClass = failed.class;
  if (errorClass === 'permanent') return { kind: 'dead', error, errorClass };
  const unavailable = row.unavailableCount + (errorClass === 'unavailable' ? 1 : 0);
  if (row.retryCount + 1 - unavailable >= config.max_retries) return { kind: 'dead', error, errorClass };
  if (at.now - Date.parse(row.createdAt) > config.max_age_hours * HOUR_MS) {
    return { kind: 'dead', error: 'max_age_exceeded', errorClass };
  }
  const wait = backoffSeconds(row.retryCount, { base: config.base_backoff, max: config.max_backoff }, at.random);
  const retryAfter = Math.ceil((failed.retryAfterMs ?? 0) / 1_000);
  // Uncertainty remains until a lookup in the backend resolves it.
  const verifyFirst = failed.applied === 'unknown' || row.verifyFirst;
  return { kind: 'retry', error, errorClass, delaySeconds: Math.max(wait, retryAfter), verifyFirst };
}
