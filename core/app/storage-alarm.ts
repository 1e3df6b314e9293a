import type { Alert } from '../sdk/events.js';
import type { Finding } from '../sdk/host/plugin-control.js';

/** A full database is told again when it still is after this, milliseconds. */
const toldAgainAfterMs = 60_000;
/** Without another refused write it counts as mended; the heartbeat of the process alone writes every few seconds. */
const mendedAfterMs = 60_000;

const code = 'database_full';
const message = 'The database has no space left: what would have to be written is refused.';

export interface StorageAlarm {
  /** A write was refused for want of space. */
  full(): void;
  findings(): readonly Finding[];
}

/** Tells once a minute at most that the database is full, however many writes are refused. */
export function createStorageAlarm(raise: (alert: Alert) => void, now: () => number = Date.now): StorageAlarm {
  let seenAt = Number.NEGATIVE_INFINITY;
  let toldAt = Number.NEGATIVE_INFINITY;
  return {
    full: () => {
      seenAt = now();
      if (seenAt - toldAt < toldAgainAfterMs) return;
      toldAt = seenAt;
      raise({ source: 'host:database', severity: 'critical', code, message });
    },
    findings: () =>
      now() - seenAt < mendedAfterMs
        ? [{ severity: 'error', code, message, fix: 'Free space where the database lies; writing goes on by itself.' }]
        : [],
  };
}
