import type { AuditRow, ChainHead, ChainLink, Evidence, LedgerRow, OutboxRow } from './evidence.js';

/** Direct read access to the database, without the product. */
export interface DatabaseReader {
  readonly dialect: 'sqlite' | 'postgres';
  rows<Row>(sql: string): Promise<readonly Row[]>;
  /** Runs statements on one snapshot. */
  atOnce<T>(run: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** The physical name of a table of the product. */
export function table({ dialect }: DatabaseReader, schema: string, name: string): string {
  return dialect === 'sqlite' ? `${schema}_${name}` : `${schema}.${name}`;
}

/** Times of an audit row, which are hashed in their written form. */
const times: ReadonlySet<string> = new Set(['created_at', 'ts', 'updated_at']);

/** Columns as text, so that ids, JSON and times look the same on both databases. */
function texts({ dialect }: DatabaseReader, columns: readonly string[]): string {
  const text = (column: string) =>
    times.has(column) && dialect === 'postgres'
      ? `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
      : `cast(${column} as text)`;
  return columns.map((column) => `${text(column)} as ${column}`).join(', ');
}

const columns = {
  outbox: [
    'outbox_id',
    'target_space',
    'payload_md',
    'status',
    'locked_by',
    'last_error',
    'dead_at',
    'memory_id',
    'memory_key',
    'kind',
    'meta_json',
    'evidence_json',
    'actor_user_id',
    'item_id',
  ],
  ledger: [
    'memory_key',
    'space',
    'payload_md',
    'kind',
    'meta_json',
    'evidence_json',
    'actor_user_id',
    'item_id',
    'state',
    'backend_memory_id',
    'outbox_id',
  ],
  audits: [
    'audit_id',
    'created_at',
    'ts',
    'updated_at',
    'actor_user_id',
    'target_space',
    'action',
    'reason',
    'payload_sha',
    'correlation_id',
    'status',
    'operation',
    'memory_key',
    'principal',
    'writer_id',
    'evidence_refs_json',
  ],
  chain: ['writer_id', 'seq', 'audit_id', 'phase', 'row_sha', 'chain_sha', 'hash_version'],
  heads: ['writer_id', 'seq', 'chain_sha'],
  users: ['user_id'],
};

/** The documented lookup of invariant 4. */
const lookups = {
  sqlite: (audits: string) => `cast(${audits}.evidence_refs_json->>'outbox_id' as text)`,
  postgres: (audits: string) => `${audits}.evidence_refs_json->>'outbox_id'`,
};

/** Reads everything about memories from the database, in one snapshot. */
export async function readDatabase(database: DatabaseReader): Promise<Omit<Evidence, 'journal' | 'clientRecords'>> {
  const outboxTable = table(database, 'logbook', 'outbox_memory');
  const auditTable = table(database, 'governance', 'write_audit');
  const all = <Row>(name: string, wanted: readonly string[]) =>
    database.rows<Row>(`select ${texts(database, wanted)} from ${name}`);
  return database.atOnce(async () => {
    const found = await database.rows<{ readonly outbox_id: string; readonly audits: string }>(
      `select cast(o.outbox_id as text) as outbox_id, cast(count(*) as text) as audits from ${outboxTable} o
       join ${auditTable} a on ${lookups[database.dialect]('a')} = cast(o.outbox_id as text) group by o.outbox_id`,
    );
    const users = await all<{ readonly user_id: string }>(table(database, 'identity', 'users'), columns.users);
    return {
      dialect: database.dialect,
      users: new Set(users.map(({ user_id }) => user_id)),
      outbox: await all<OutboxRow>(outboxTable, columns.outbox),
      ledger: await all<LedgerRow>(table(database, 'logbook', 'memories'), columns.ledger),
      audits: await all<AuditRow>(auditTable, columns.audits),
      chain: await all<ChainLink>(table(database, 'governance', 'audit_chain'), columns.chain),
      heads: await all<ChainHead>(table(database, 'governance', 'audit_heads'), columns.heads),
      auditsFound: new Map(found.map(({ outbox_id, audits }) => [outbox_id, Number(audits)])),
    };
  });
}

/** Rows that have not reached their final state. */
interface Unfinished {
  readonly outboxPending: number;
  readonly auditsPending: number;
  readonly memoriesUnfinished: number;
  /** Failed deliveries of pending rows: they change while a row is still being retried. */
  readonly failedAttempts: number;
}

export async function countUnfinished(database: DatabaseReader): Promise<Unfinished> {
  const count = (schema: string, name: string, where: string) =>
    `(select cast(count(*) as text) from ${table(database, schema, name)} where ${where})`;
  const [row] = await database.rows<{
    readonly outbox: string;
    readonly audits: string;
    readonly memories: string;
    readonly attempts: string;
  }>(
    `select ${count('logbook', 'outbox_memory', `status = 'pending'`)} as outbox,
       ${count('governance', 'write_audit', `status = 'pending'`)} as audits,
       ${count('logbook', 'memories', `state in ('writing', 'queued')`)} as memories,
       (select cast(coalesce(sum(retry_count), 0) as text) from ${table(database, 'logbook', 'outbox_memory')}
         where status = 'pending') as attempts`,
  );
  return {
    outboxPending: Number(row?.outbox),
    auditsPending: Number(row?.audits),
    memoriesUnfinished: Number(row?.memories),
    failedAttempts: Number(row?.attempts),
  };
}
