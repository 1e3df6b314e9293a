import type { DatabaseHost } from '../database/index.js';
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
  freed(): void;
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
    freed: () => {
      isFull = false;
    },
    findings: () =>
      isFull
        ? [{ severity: 'error', code, message, fix: 'Free space where the database lies; writing goes on by itself.' }]
        : [],
  };
}

/** What keeps the database from being used: it is asked, because plugins go on running without it. */
export async function databaseFindings(
  { dialect, target, forPlugin, holder }: Pick<DatabaseHost, 'dialect' | 'target' | 'forPlugin' | 'holder'>,
  storage: StorageAlarm,
): Promise<readonly Finding[]> {
  // Asked first: the probes below wait for it, and by then it may be over.
  const plugin = holder();
  const probe = forPlugin('host-doctor', []);
  if (!(await probe.ping())) {
    if (plugin !== undefined) return [heldBy(plugin, target), ...storage.findings()];
    return [
      {
        severity: 'error',
        code: 'database_unreachable',
        message: `The database ${target} does not answer.`,
        fix:
          dialect === 'postgres'
            ? 'Start it, or correct DATABASE_URL (or DATABASE_HOST, …) and restart; once it is back the pool connects by itself.'
            : 'Check that its folder is there and its disk answers, and that no other program holds it; then restart.',
      },
      ...storage.findings(),
    ];
  }
  // A write that is refused for want of space rings the alarm by itself.
  const writes = await probe.canWrite();
  const full = storage.findings();
  if (writes || full.length > 0) return full;
  if (plugin !== undefined) return [heldBy(plugin, target)];
  return [
    {
      severity: 'warning',
      code: 'database_takes_no_writes',
      message: `The database ${target} answers, and did not take a small write within 2 s.`,
      fix: 'Look for a write that holds it for long, a read-only disk, or a standby in the place of the primary.',
    },
  ];
}

function heldBy(plugin: string, target: string): Finding {
  return {
    severity: 'error',
    code: 'database_held',
    message: `The plugin ${plugin} holds a transaction in which nothing happens: the database ${target} takes no other write.`,
    fix: `Wait: it is rolled back after 30 s without a statement. Or now: mortise plugin disable ${plugin}`,
  };
}
