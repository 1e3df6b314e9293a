import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseHost, StorageLoss } from '../database/index.js';
import type { Alert } from '../sdk/events.js';
import type { Finding } from '../sdk/host/plugin-control.js';

/** How often the alert of a full database is repeated, milliseconds. */
const repeatAfterMs = 60_000;

const code = 'database_full';
const message = 'The database has no space left: what would have to be written is refused.';

export interface StorageAlarm {
  /** A write was refused because no space is left. */
  full(): void;
  /** There is space again. */
  freed(): void;
  findings(): readonly Finding[];
}

/** Raises an alert at most once a minute while the database is full, however many writes are refused. */
export function createStorageAlarm(raise: (alert: Alert) => void, now: () => number = Date.now): StorageAlarm {
  let isFull = false;
  let raisedAt = Number.NEGATIVE_INFINITY;
  return {
    full: () => {
      isFull = true;
      if (now() - raisedAt < repeatAfterMs) return;
      raisedAt = now();
      raise({ source: 'host:database', severity: 'critical', code, message });
    },
    freed: () => {
      isFull = false;
    },
    findings: () =>
      isFull
        ? [
            {
              severity: 'error',
              code,
              message,
              fix: 'Free space on the disk of the database; writing continues without a restart.',
            },
          ]
        : [],
  };
}

type LostDatabase = Pick<DatabaseHost, 'dialect' | 'target' | 'storage'>;

/** One row per loss: what happened, what to do, and what the copy of the lost file is for. */
const losses = {
  missing: (target: string) => ({
    code: 'database_file_missing',
    message: `The database file ${target} was moved or deleted while the server runs.`,
    fix: 'Put it back: work then continues without a restart. A restart now would begin with an empty database.',
  }),
  replaced: (target: string) => ({
    code: 'database_file_replaced',
    message: `Another file has taken the place of the database file ${target} while the server runs.`,
    fix: 'Put the first one back, or a complete copy of it: work then continues without a restart. To use the file that is there now, restart the server.',
  }),
  overwritten: (target: string) => ({
    code: 'database_file_overwritten',
    message: `The database file ${target} was cut or overwritten in place while the server runs.`,
    fix: `Move a complete backup there (mv backup.db ${target}): work then continues without a restart. To use the file as it is now, restart the server.`,
  }),
  emptied: (target: string) => ({
    code: 'database_emptied',
    message: `The database ${target} was created anew or emptied while the server runs: its tables are gone.`,
    fix: 'Restore it from a backup: work then continues without a restart. To begin with empty tables, restart the server.',
  }),
} satisfies Record<StorageLoss, (target: string) => Omit<Finding, 'severity'>>;

/** The database was taken away from the running server, as a whole or some of its tables. */
export function lossFindings({ target, storage, dialect }: LostDatabase): readonly Finding[] {
  if (storage.loss === undefined) {
    return storage.missingTables.length === 0 ? [] : [missingTables(storage.missingTables, target, dialect)];
  }
  const finding = losses[storage.loss](target);
  const lostFile = storage.lostFile();
  const copy =
    lostFile === undefined
      ? ''
      : ` Until the server stops, its content can be copied: ${copyCommand(lostFile, target)}`;
  return [
    {
      severity: 'error',
      ...finding,
      message: `${finding.message} Nothing is read or written.`,
      fix: `${finding.fix}${copy}`,
    },
  ];
}

/** The folder may be gone with the file. */
function copyCommand(lostFile: string, target: string): string {
  const folder = dirname(target);
  return `${existsSync(folder) ? '' : `mkdir -p ${quoted(folder)} && `}cp ${lostFile} ${quoted(target)}`;
}

/** As one word of a shell. */
function quoted(path: string): string {
  return /^[\w/.@%+:,-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

/** Names in a message; the rest is counted. */
const shownTables = 5;

function missingTables(names: readonly string[], target: string, dialect: DatabaseHost['dialect']): Finding {
  const rest = names.length > shownTables ? ` and ${names.length - shownTables} more` : '';
  const records = dialect === 'postgres' ? 'mortise.tables' : 'mortise_tables';
  return {
    severity: 'error',
    code: 'database_tables_missing',
    message: `Tables are missing in the database ${target}: ${names.slice(0, shownTables).join(', ')}${rest}. Whatever needs them fails.`,
    fix: `Restore them from a backup: work then continues without a restart. A table that was dropped on purpose is forgotten with: delete from ${records} where name = '${names[0]}'`,
  };
}

export function lossAlert(database: LostDatabase): Alert | undefined {
  const [finding] = lossFindings(database);
  return finding && { source: 'host:database', severity: 'critical', code: finding.code, message: finding.message };
}

/** What keeps the database from being used. It is probed, because plugins run on without it. */
export async function databaseFindings(
  database: Pick<DatabaseHost, 'dialect' | 'target' | 'forPlugin' | 'holder' | 'storage'>,
  storage: StorageAlarm,
): Promise<readonly Finding[]> {
  await database.storage.check();
  const lost = lossFindings(database);
  if (lost.length > 0) return lost;
  const { dialect, target, forPlugin, holder } = database;
  // Read first: the probes below wait for the transaction, which may have ended by then.
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
  // A write that is refused because no space is left calls `full`.
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
