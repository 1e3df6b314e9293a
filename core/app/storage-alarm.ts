import type { Alert } from '../sdk/events.js';
import type { Finding } from '../sdk/host/plugin-control.js';

/** A full database is told again when it still is after this, milliseconds. */
const toldAgainAfterMs = 60_000;

const code = 'database_full';
const message = 'The database has no space left: what would have to be written is refused.';

export interface StorageAlarm {
  /** A write was refused for want of space. */
  full(): void;
  /** There is space again. */
  mended(): void;
  findings(): readonly Finding[];
}

/** Tells once a minute at most that the database is full, however many writes are refused. */
export function createStorageAlarm(raise: (alert: Alert) => void, now: () => number = Date.now): StorageAlarm {
  let isFull = false;
  let toldAt = Number.NEGATIVE_INFINITY;
  return {
    full: () => {
      isFull = true;
      if (now() - toldAt < toldAgainAfterMs) return;
      toldAt = now();
      raise({ source: 'host:database', severity: 'critical', code, message });
    },
    mended: () => {
      isFull = false;
    },
    findings: () =>
      isFull
        ? [{ severity: 'error', code, message, fix: 'Free space where the database lies; writing goes on by itself.' }]
        : [],
  };
}
