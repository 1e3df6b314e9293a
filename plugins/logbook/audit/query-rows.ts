import type { AuditQuery, AuditRow, PendingAudit } from 'mortise/contracts/logbook';
import {
  type Database,
  MortiseError,
  readTime,
  redactSecrets,
  type SqlValue,
  type TransactionOption,
} from 'mortise/sdk';
import { movedNow } from '../sql.js';
import { type AuditColumns, auditColumns, auditRowOf } from './audit-row.js';
import { outboxIdText } from './json-facts.js';

const DEFAULT_LIMIT = 100;
const LARGEST_LIMIT = 1_000;

/** Conditions and their bindings, for the members of a query that are given. */
function conditions(database: Database, query: AuditQuery): readonly (readonly [string, SqlValue[]])[] {
  const found: [string, SqlValue[]][] = [];
  const add = (value: string | undefined, sql: string, ...bindings: SqlValue[]) => {
    if (value !== undefined) found.push([sql, bindings]);
  };
  add(query.since, 'created_at >= ?', timeOf(database, 'since', query.since));
  add(query.until, 'created_at < ?', timeOf(database, 'until', query.until));
  add(query.action, 'action = ?', query.action ?? null);
  add(query.operation, 'operation = ?', query.operation ?? null);
  // Not LIKE: on SQLite it ignores case.
  add(
    query.reasonPrefix,
    'substr(reason, 1, ?) = ?',
    [...(query.reasonPrefix ?? '')].length,
    query.reasonPrefix ?? null,
  );
  // Rows are stored redacted.
  add(query.actor, 'actor_user_id = ?', redactSecrets(query.actor ?? ''));
  add(query.space, 'target_space = ?', redactSecrets(query.space ?? ''));
  add(query.outboxId, `${outboxIdText(database.dialect)} = ?`, query.outboxId ?? null);
  add(query.correlationId, 'correlation_id = ?', query.correlationId ?? null);
  add(query.cursor, 'audit_id < ?', cursorOf(query.cursor));
  return found;
}

function timeOf(database: Database, name: string, text: string | undefined): SqlValue {
  if (text === undefined) return null;
  const at = readTime(text);
  if (at === undefined) {
    throw new MortiseError('invalid_audit_query', `${name} must be an ISO 8601 time.`, { status: 400 });
  }
  return database.codec.time(at);
}

function cursorOf(cursor: string | undefined): SqlValue {
  if (cursor === undefined) return null;
  if (!/^\d{1,15}$/.test(cursor)) {
    throw new MortiseError('invalid_audit_query', 'The cursor was not returned by an earlier page.', {
      status: 400,
    });
  }
  return Number(cursor);
}

function limitOf(limit: number | undefined): number {
  const wanted = limit ?? DEFAULT_LIMIT;
  if (!Number.isInteger(wanted) || wanted < 1 || wanted > LARGEST_LIMIT) {
    throw new MortiseError('invalid_audit_query', `limit must be a whole number from 1 to ${LARGEST_LIMIT}.`, {
      status: 400,
    });
  }
  return wanted;
}

export async function readRow(
  database: Database,
  auditId: string,
  options: TransactionOption = {},
): Promise<AuditRow | undefined> {
  const { rows } = await database.statement<AuditColumns>(
    `select ${auditColumns} from {governance.write_audit} where audit_id = ?`,
    [auditId],
    options,
  );
  return rows[0] && auditRowOf(database, rows[0]);
}

/**
 * Audit rows, newest first; `next` is the cursor of the following page.
 * @throws MortiseError `invalid_audit_query` (400).
 */
export async function queryRows(
  database: Database,
  query: AuditQuery,
  options: TransactionOption = {},
): Promise<{ readonly rows: readonly AuditRow[]; readonly next: string | null }> {
  const limit = limitOf(query.limit);
  const where = conditions(database, query);
  const { rows } = await database.statement<AuditColumns>(
    `select ${auditColumns} from {governance.write_audit}
     ${where.length === 0 ? '' : `where ${where.map(([sql]) => sql).join(' and ')}`}
     order by audit_id desc limit ?`,
    [...where.flatMap(([, bindings]) => bindings), limit + 1],
    options,
  );
  const page = rows.slice(0, limit);
  return {
    rows: page.map((row) => auditRowOf(database, row)),
    next: rows.length > limit ? String(page.at(-1)?.audit_id) : null,
  };
}

interface PendingQuery {
  readonly olderThanSeconds: number;
  readonly limit: number;
  /** Audit id of the last row that was read. */
  readonly after?: string | undefined;
}

/** Rows that are still pending, oldest first. */
export async function pendingRows(
  database: Database,
  { olderThanSeconds, limit, after }: PendingQuery,
  options?: TransactionOption,
): Promise<readonly PendingAudit[]> {
  const { rows } = await database.statement<AuditColumns>(
    `select ${auditColumns} from {governance.write_audit}
     where status = 'pending' and audit_id > ? and created_at <= ${movedNow(database)} order by audit_id limit ?`,
    [Number(after ?? 0), -olderThanSeconds, limit],
    options,
  );
  return rows.map((row) => ({
    ...auditRowOf(database, row),
    // `<instance>` or `<instance>/<lane>`.
    instanceId: (row.writer_id ?? '').split('/')[0] ?? '',
  }));
}
