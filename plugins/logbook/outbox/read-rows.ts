import type { OutboxQuery, OutboxRow, OutboxStatus } from 'mortise/contracts/logbook';
import { type Database, jsonTexts, MortiseError, readTime, type SqlValue, type TransactionOption } from 'mortise/sdk';

/** A row of `logbook.outbox_memory` as the database returns it. */
export interface OutboxColumns {
  readonly outbox_id: number;
  readonly item_id: number | null;
  readonly target_space: string;
  readonly payload_md: string;
  readonly payload_sha: string;
  readonly status: OutboxStatus;
  readonly retry_count: number;
  readonly next_attempt_at: string;
  readonly locked_at: string | null;
  readonly locked_by: string | null;
  readonly last_error: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly meta_json: string;
  readonly kind: string | null;
  readonly evidence_json: string;
  readonly actor_user_id: string | null;
  readonly principal: string | null;
  readonly requested_space: string | null;
  readonly correlation_id: string | null;
  readonly memory_key: string | null;
  readonly meta_sha: string;
  readonly unavailable_count: number;
  readonly last_error_class: OutboxRow['lastErrorClass'];
  readonly verify_first: unknown;
  readonly memory_id: string | null;
  readonly sent_at: string | null;
  readonly dead_at: string | null;
}

const names = [
  'outbox_id',
  'item_id',
  'target_space',
  'payload_md',
  'payload_sha',
  'status',
  'retry_count',
  'next_attempt_at',
  'locked_at',
  'locked_by',
  'last_error',
  'created_at',
  'updated_at',
  'meta_json',
  'kind',
  'evidence_json',
  'actor_user_id',
  'principal',
  'requested_space',
  'correlation_id',
  'memory_key',
  'meta_sha',
  'unavailable_count',
  'last_error_class',
  'verify_first',
  'memory_id',
  'sent_at',
  'dead_at',
] as const;

/** All columns, for `returning`, where SQLite knows no alias. */
export const returnedColumns = names.join(', ');

/** All columns of the table `o`. */
export const outboxColumns = names.map((name) => `o.${name}`).join(', ');

export function outboxRowOf({ codec }: Database, row: OutboxColumns): OutboxRow {
  return {
    outboxId: row.outbox_id,
    itemId: row.item_id,
    space: row.target_space,
    payload: row.payload_md,
    payloadSha: row.payload_sha,
    status: row.status,
    retryCount: row.retry_count,
    nextAttemptAt: codec.parseTime(row.next_attempt_at) ?? '',
    lockedAt: codec.parseTime(row.locked_at),
    lockedBy: row.locked_by,
    lastError: row.last_error,
    createdAt: codec.parseTime(row.created_at) ?? '',
    updatedAt: codec.parseTime(row.updated_at) ?? '',
    meta: codec.parseJson<Record<string, unknown> | null>(row.meta_json) ?? {},
    kind: row.kind,
    evidence: codec.parseJson<Record<string, unknown>[] | null>(row.evidence_json) ?? [],
    actorUserId: row.actor_user_id,
    principal: row.principal,
    requestedSpace: row.requested_space,
    correlationId: row.correlation_id,
    memoryKey: row.memory_key,
    metaSha: row.meta_sha,
    unavailableCount: row.unavailable_count,
    lastErrorClass: row.last_error_class,
    verifyFirst: codec.parseFlag(row.verify_first),
    memoryId: row.memory_id,
    sentAt: codec.parseTime(row.sent_at),
    deadAt: codec.parseTime(row.dead_at),
  };
}

const DEFAULT_LIMIT = 100;
const LARGEST_LIMIT = 1_000;

function invalid(message: string): MortiseError {
  return new MortiseError('invalid_outbox_query', message, { status: 400 });
}

export async function rowsByIds(
  database: Database,
  ids: readonly number[],
  options?: TransactionOption,
): Promise<readonly OutboxRow[]> {
  if (ids.length === 0) return [];
  const { rows } = await database.statement<OutboxColumns>(
    `select ${outboxColumns} from {logbook.outbox_memory} o
     where o.outbox_id in (select cast(value as bigint) from ${jsonTexts(database.dialect)} ids) order by o.outbox_id`,
    [JSON.stringify(ids)],
    options,
  );
  return rows.map((row) => outboxRowOf(database, row));
}

function conditions(database: Database, query: OutboxQuery): readonly (readonly [string, SqlValue])[] {
  const { status, space, since, cursor } = query;
  if (status !== undefined && !['pending', 'sent', 'dead'].includes(status)) {
    throw invalid('status must be pending, sent or dead.');
  }
  const from = since === undefined ? undefined : readTime(since);
  if (since !== undefined && from === undefined) throw invalid('since must be an ISO 8601 time.');
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) {
    throw invalid('The cursor was not returned by an earlier page.');
  }
  const found: [string, SqlValue][] = [];
  if (status !== undefined) found.push(['o.status = ?', status]);
  if (space !== undefined) found.push(['o.target_space = ?', space]);
  if (from !== undefined) found.push(['o.updated_at >= ?', database.codec.time(from)]);
  if (cursor !== undefined) found.push(['o.outbox_id < ?', Number(cursor)]);
  return found;
}

/** Rows of the outbox, newest first. @throws MortiseError `invalid_outbox_query` (400). */
export async function listRows(
  database: Database,
  query: OutboxQuery,
  options?: TransactionOption,
): Promise<{ readonly rows: readonly OutboxRow[]; readonly next: string | null }> {
  const limit = query.limit ?? DEFAULT_LIMIT;
  if (!Number.isInteger(limit) || limit < 1 || limit > LARGEST_LIMIT) {
    throw invalid(`limit must be a whole number from 1 to ${LARGEST_LIMIT}.`);
  }
  const where = conditions(database, query);
  const { rows } = await database.statement<OutboxColumns>(
    `select ${outboxColumns} from {logbook.outbox_memory} o
     ${where.length === 0 ? '' : `where ${where.map(([sql]) => sql).join(' and ')}`}
     order by o.outbox_id desc limit ?`,
    [...where.map(([, binding]) => binding), limit + 1],
    options,
  );
  const page = rows.slice(0, limit);
  return {
    rows: page.map((row) => outboxRowOf(database, row)),
    next: rows.length > limit ? String(page.at(-1)?.outbox_id) : null,
  };
}
