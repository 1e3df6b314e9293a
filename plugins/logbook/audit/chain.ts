import { hash } from 'node:crypto';
import {
  type Database,
  type Dialect,
  type InsertTarget,
  insertRows,
  MortiseError,
  type Transaction,
} from 'mortise/sdk';
import type { StoredEntry } from './audit-row.js';

/** SHA-256 of a text's UTF-8 bytes, 64 lower-case hex digits. */
function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}

/** The end of one writer's chain, locked until the transaction ends. */
interface ChainHead {
  readonly writerId: string;
  readonly seq: number;
  readonly chainSha: string;
}

/** `insert`: the row as first written; `final`: after a pending row was settled. */
type ChainPhase = 'insert' | 'final';

interface ChainedRow {
  readonly auditId: string;
  readonly phase: ChainPhase;
  readonly entry: StoredEntry;
}

/** More than the pool has connections, so one lane is always free. */
const LANES = 64;

/** Predecessor hash of the first link. */
export const CHAIN_START = '0'.repeat(64);

const chainLinks = {
  table: 'governance.audit_chain',
  columns: ['writer_id', 'seq', 'audit_id', 'phase', 'row_sha', 'chain_sha', 'created_at', 'hash_version'],
};

const moveHead = `on conflict (writer_id) do update
  set seq = excluded.seq, chain_sha = excluded.chain_sha, updated_at = excluded.updated_at`;

/** On PostgreSQL the head moves in the same statement that adds the links, which saves a round trip. */
const growths: Readonly<Record<Dialect, InsertTarget>> = {
  sqlite: chainLinks,
  postgres: {
    ...chainLinks,
    prefix: 'with added as (',
    suffix: `returning writer_id, seq, chain_sha, created_at)
      insert into {governance.audit_heads} (writer_id, seq, chain_sha, updated_at)
      select writer_id, seq, chain_sha, created_at from added order by seq desc limit 1 ${moveHead}`,
  },
};

/** Version of the hashed columns. Version 1 did not cover `ts` and `updated_at`. */
const HASH_VERSION = 2;

/**
 * SHA-256 over every column of an audit row, its id included. Times are ISO 8601 in UTC with milliseconds on both
 * databases. The versions hash different numbers of columns, so no row has the same hash in both.
 */
export function rowSha(auditId: string, entry: StoredEntry, version: number = HASH_VERSION): string {
  const facts = [
    auditId,
    entry.createdAt,
    ...(version === 1 ? [] : [entry.ts, entry.updatedAt]),
    entry.actorUserId,
    entry.targetSpace,
    entry.action,
    entry.reason,
    entry.payloadSha,
    entry.correlationId,
    entry.status,
    entry.operation,
    entry.memoryKey,
    entry.principal,
    entry.writerId,
  ];
  return sha256(`${JSON.stringify(facts)}\n${entry.evidence}`);
}

/** Hash of a link: previous link and row. */
export function nextChainSha(previous: string, row: string): string {
  return sha256(previous + row);
}

/**
 * Picks the chain that a transaction extends. SQLite has one writer at a time. On PostgreSQL a process has several open
 * transactions and a chain must not branch: each transaction takes the first free lane of the process with an advisory
 * lock that ends with the transaction. Waiting for a single chain would serialise unrelated transactions and could
 * deadlock them.
 */
async function claimWriterId(database: Database, instanceId: string, trx: Transaction): Promise<string> {
  if (database.dialect === 'sqlite') return instanceId;
  for (let lane = 0; lane < LANES; lane += 1) {
    const writerId = lane === 0 ? instanceId : `${instanceId}/${lane}`;
    const { rows } = await database.statement<{ locked: boolean }>(
      'select pg_try_advisory_xact_lock(hashtextextended(?, 0)) as locked',
      [`audit-chain ${writerId}`],
      { trx },
    );
    if (database.codec.parseFlag(rows[0]?.locked)) return writerId;
  }
  throw new MortiseError('audit_chain_busy', 'Too many transactions write audit rows at once.', {
    status: 503,
    retryable: true,
  });
}

/** Locks a chain until the outermost transaction ends; repeated calls in one transaction return the same chain. */
export async function holdChain(database: Database, instanceId: string, trx: Transaction): Promise<ChainHead> {
  const writerId = await claimWriterId(database, instanceId, trx);
  // Read each time, because a rolled-back savepoint removes its links. Read from the head, not the links, so that a
  // truncated chain is not silently continued.
  const { rows } = await database.statement<{ seq: number; chain_sha: string }>(
    'select seq, chain_sha from {governance.audit_heads} where writer_id = ?',
    [writerId],
    { trx },
  );
  return { writerId, seq: rows[0]?.seq ?? 0, chainSha: rows[0]?.chain_sha ?? CHAIN_START };
}

/** Adds one link for each row and moves the head, in the same transaction as the rows. */
export async function appendLinks(
  database: Database,
  head: ChainHead,
  rows: readonly ChainedRow[],
  trx: Transaction,
): Promise<void> {
  let { seq, chainSha } = head;
  const now = database.codec.time(Date.now());
  const links = rows.map(({ auditId, phase, entry }) => {
    const row = rowSha(auditId, entry);
    seq += 1;
    chainSha = nextChainSha(chainSha, row);
    return [head.writerId, seq, auditId, phase, row, chainSha, now, HASH_VERSION];
  });
  await insertRows(database, growths[database.dialect], links, { trx });
  if (database.dialect === 'postgres' || rows.length === 0) return;
  await database.statement(
    `insert into {governance.audit_heads} (writer_id, seq, chain_sha, updated_at) values (?, ?, ?, ?) ${moveHead}`,
    [head.writerId, seq, chainSha, now],
    { trx },
  );
}
