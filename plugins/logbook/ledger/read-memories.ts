import type { LedgerFilters, LedgerMemory, LedgerState } from 'mortise/contracts/logbook';
import { canonicalJson, type Database, jsonTexts, type SqlValue, type TransactionOption } from 'mortise/sdk';

/** A row of `logbook.memories` as the database returns it. */
export interface MemoryColumns {
  readonly seq: number;
  readonly memory_key: string;
  readonly space: string;
  readonly payload_md: string | null;
  readonly payload_sha: string;
  readonly payload_len: number | null;
  readonly meta_sha: string;
  readonly kind: string | null;
  readonly meta_json: string;
  readonly evidence_json: string;
  readonly actor_user_id: string | null;
  readonly item_id: number | null;
  readonly backend: string;
  readonly backend_memory_id: string | null;
  readonly state: LedgerState;
  readonly audit_id: number | null;
  readonly outbox_id: number | null;
  readonly correlation_id: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

export const memoryColumns = `seq, memory_key, space, payload_md, payload_sha, payload_len, meta_sha, kind, meta_json,
  evidence_json, actor_user_id, item_id, backend, backend_memory_id, state, audit_id, outbox_id, correlation_id,
  created_at, updated_at`;

export function memoryOf({ codec }: Database, row: MemoryColumns): LedgerMemory {
  return {
    seq: row.seq,
    memoryKey: row.memory_key,
    space: row.space,
    payload: row.payload_md,
    payloadSha: row.payload_sha,
    payloadLength: row.payload_len ?? 0,
    metaSha: row.meta_sha,
    kind: row.kind,
    meta: row.meta_json === '{}' ? {} : codec.parseJson<Record<string, unknown>>(row.meta_json),
    evidence: row.evidence_json === '[]' ? [] : codec.parseJson<Record<string, unknown>[]>(row.evidence_json),
    actorUserId: row.actor_user_id,
    itemId: row.item_id,
    backend: row.backend,
    backendMemoryId: row.backend_memory_id,
    state: row.state,
    auditId: row.audit_id === null ? null : String(row.audit_id),
    outboxId: row.outbox_id,
    correlationId: row.correlation_id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** A SQL condition with its binding. */
type Condition = readonly [sql: string, binding: SqlValue];

function uriOf(item: Readonly<Record<string, unknown>>): string {
  return typeof item.uri === 'string' ? item.uri : '';
}

/** Whether a memory satisfies all filters. */
export function matchesFilters(memory: LedgerMemory, filters: LedgerFilters): boolean {
  const { kind, createdAfter, createdBefore, evidence, meta, actorUserId } = filters;
  const created = Date.parse(memory.createdAt);
  return (
    (kind === undefined || (memory.kind !== null && kind.includes(memory.kind))) &&
    (createdAfter === undefined || created > Date.parse(createdAfter)) &&
    (createdBefore === undefined || created < Date.parse(createdBefore)) &&
    (evidence === undefined || memory.evidence.some((item) => uriOf(item).includes(evidence))) &&
    (actorUserId === undefined || memory.actorUserId === actorUserId) &&
    Object.entries(meta ?? {}).every(
      ([name, value]) => Object.hasOwn(memory.meta, name) && canonicalJson(memory.meta[name]) === canonicalJson(value),
    )
  );
}

/** Prefilter in SQL; {@link matchesFilters} decides. */
function filterConditions(database: Database, filters: LedgerFilters): readonly Condition[] {
  const { kind, createdAfter, createdBefore, actorUserId } = filters;
  const found: Condition[] = [];
  if (kind !== undefined) found.push([`kind in ${jsonTexts(database.dialect)}`, database.codec.json(kind)]);
  if (createdAfter !== undefined) found.push(['created_at > ?', database.codec.time(createdAfter)]);
  if (createdBefore !== undefined) found.push(['created_at < ?', database.codec.time(createdBefore)]);
  if (actorUserId !== undefined) found.push(['actor_user_id = ?', actorUserId]);
  return found;
}

/** Rows by the values of one column. */
export async function memoriesBy(
  database: Database,
  column: 'memory_key' | 'payload_sha',
  values: readonly string[],
  options?: TransactionOption,
): Promise<readonly LedgerMemory[]> {
  if (values.length === 0) return [];
  const { rows } = await database.statement<MemoryColumns>(
    `select ${memoryColumns} from {logbook.memories} where ${column} in ${jsonTexts(database.dialect)}`,
    [JSON.stringify(values)],
    options,
  );
  return rows.map((row) => memoryOf(database, row));
}

interface LedgerPage {
  readonly after: number;
  readonly limit: number;
  readonly backend?: string | undefined;
  readonly states?: readonly LedgerState[] | undefined;
  readonly space?: string | undefined;
}

/** Rows in insertion order, after the given `seq`. */
export async function pageOfMemories(
  database: Database,
  { after, limit, backend, states, space }: LedgerPage,
  options?: TransactionOption,
): Promise<readonly LedgerMemory[]> {
  const where: [string, SqlValue][] = [['seq > ?', after]];
  if (backend !== undefined) where.push(['backend = ?', backend]);
  if (states !== undefined) where.push([`state in ${jsonTexts(database.dialect)}`, JSON.stringify(states)]);
  if (space !== undefined) where.push(['space = ?', space]);
  const { rows } = await database.statement<MemoryColumns>(
    `select ${memoryColumns} from {logbook.memories} where ${where.map(([sql]) => sql).join(' and ')}
     order by seq limit ?`,
    [...where.map(([, binding]) => binding), limit],
    options,
  );
  return rows.map((row) => memoryOf(database, row));
}

const PAGE = 200;

interface PageRequest {
  readonly spaces: readonly string[];
  readonly filters: LedgerFilters;
  /** A further condition, e.g. on the state. */
  readonly where: string;
  readonly bindings: readonly SqlValue[];
}

/** Rows of the spaces that satisfy the filters, newest first, read page by page on demand. */
export async function* readPages(
  database: Database,
  request: PageRequest,
  options?: TransactionOption,
): AsyncGenerator<LedgerMemory> {
  const filters = filterConditions(database, request.filters);
  const text = `select ${memoryColumns} from {logbook.memories}
    where space in ${jsonTexts(database.dialect)} and seq < ? and ${request.where}
    ${filters.map(([sql]) => `and ${sql}`).join(' ')}
    order by seq desc limit ${PAGE}`;
  let before = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const { rows } = await database.statement<MemoryColumns>(
      text,
      [JSON.stringify(request.spaces), before, ...request.bindings, ...filters.map(([, binding]) => binding)],
      options,
    );
    for (const row of rows) {
      const memory = memoryOf(database, row);
      if (matchesFilters(memory, request.filters)) yield memory;
    }
    const last = rows.at(-1);
    if (rows.length < PAGE || last === undefined) return;
    before = last.seq;
  }
}
