import type { FailedDelivery, FailureClass, OutboxRow } from 'mortise/sdk';
import { backoffSeconds } from '../backoff.js';
import type { Config } from '../config.generated.js';

/** What becomes of a row that could not be delivered. */
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
const LONGEST_ERROR = 500;

/** The database's clock, epoch milliseconds, and a number from 0 to below 1. */
export interface Circumstances {
  readonly now: number;
  readonly random: number;
}

/**
 * Dead: refused for good, failed too often (an unavailable backend does not count), or too old. Everything else is
 * tried again, when the backend asked for patience not before.
 */
export function judgeFailure(row: OutboxRow, failed: FailedDelivery, config: Config, at: Circumstances): Verdict {
  const error = (failed.mergedInto === null ? failed.message : `merged_into:${failed.mergedInto}`).slice(
    0,
    LONGEST_ERROR,
  );
  const errorClass = failed.class;
  if (errorClass === 'permanent') return { kind: 'dead', error, errorClass };
  const unavailable = row.unavailableCount + (errorClass === 'unavailable' ? 1 : 0);
  if (row.retryCount + 1 - unavailable >= config.max_retries) return { kind: 'dead', error, errorClass };
  if (at.now - Date.parse(row.createdAt) > config.max_age_hours * HOUR_MS) {
    return { kind: 'dead', error: 'max_age_exceeded', errorClass };
  }
  const wait = backoffSeconds(row.retryCount, { base: config.base_backoff, max: config.max_backoff }, at.random);
  const asked = Math.ceil((failed.retryAfterMs ?? 0) / 1_000);
  // A doubt stays until a look into the backend has settled it.
  const verifyFirst = failed.applied === 'unknown' || row.verifyFirst;
  return { kind: 'retry', error, errorClass, delaySeconds: Math.max(wait, asked), verifyFirst };
}
