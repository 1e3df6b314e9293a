import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { AuditVerification } from 'mortise/contracts/logbook';
import type { Database } from 'mortise/sdk';
import { type AuditColumns, auditColumnNames, storedEntryOf } from './audit-row.js';
import { CHAIN_START, nextChainSha, rowSha } from './chain.js';

type Break = NonNullable<AuditVerification['broken']>;

interface Link {
  readonly writer_id: string;
  readonly seq: number;
  readonly link_audit_id: number;
  readonly row_sha: string;
  readonly chain_sha: string;
  readonly hash_version: number;
  /** Whether a later link covers the row's current state. */
  readonly settled_later: unknown;
  /** Null where the row is gone. */
  readonly row_audit_id: number | null;
  readonly row_writer_id: string | null;
}

const PAGE = 1_000;

const rowColumns = auditColumnNames.map((name) =>
  name === 'audit_id' || name === 'writer_id' ? `a.${name} as row_${name}` : `a.${name}`,
);

const pageText = `
  select c.writer_id, c.seq, c.audit_id as link_audit_id, c.row_sha, c.chain_sha, c.hash_version,
    case when c.phase = 'insert' and exists (
      select 1 from {governance.audit_chain} f where f.audit_id = c.audit_id and f.phase = 'final'
    ) then 1 else 0 end as settled_later,
    ${rowColumns.join(', ')}
  from {governance.audit_chain} c left join {governance.write_audit} a on a.audit_id = c.audit_id
  where c.writer_id = ? and c.seq > ? order by c.seq limit ${PAGE}`;

type LinkAndRow = Link & Omit<AuditColumns, 'audit_id' | 'writer_id'>;

function problemOf(database: Database, link: LinkAndRow, seq: number, chainSha: string): string | null {
  if (link.seq !== seq) return 'link_missing';
  if (nextChainSha(chainSha, link.row_sha) !== link.chain_sha) return 'link_altered';
  if (link.row_audit_id === null) return 'row_missing';
  if (database.codec.parseFlag(link.settled_later)) return null;
  const row = { ...link, audit_id: link.row_audit_id, writer_id: link.row_writer_id };
  const sha = rowSha(String(row.audit_id), storedEntryOf(database, row), link.hash_version);
  return sha === link.row_sha ? null : 'row_altered';
}

/** Recorded end of a chain. */
interface Head {
  readonly writer_id: string;
  readonly seq: number;
  readonly chain_sha: string;
}

async function verifyWriter(
  database: Database,
  writerId: string,
  head: Head | undefined,
): Promise<{ readonly links: number; readonly broken: Break | null }> {
  let seq = 0;
  let auditId = '';
  let chainSha = CHAIN_START;
  const stop = (at: number, problem: string) => ({ links: seq, broken: { writerId, seq: at, auditId, problem } });
  for (;;) {
    const { rows } = await database.statement<LinkAndRow>(pageText, [writerId, seq]);
    for (const link of rows) {
      const problem = problemOf(database, link, seq + 1, chainSha);
      auditId = String(link.link_audit_id);
      if (problem !== null) return stop(link.seq, problem);
      seq = link.seq;
      chainSha = link.chain_sha;
      if (seq === head?.seq && chainSha !== head.chain_sha) return stop(seq, 'link_altered');
    }
    if (rows.length < PAGE) break;
    await yieldToEventLoop();
  }
  if (head === undefined) {
    return (await hasHead(database, writerId)) ? { links: seq, broken: null } : stop(seq, 'head_missing');
  }
  return seq < head.seq ? stop(seq + 1, 'truncated') : { links: seq, broken: null };
}

/** A writer that started after the heads were read has one by now. */
async function hasHead(database: Database, writerId: string): Promise<boolean> {
  const { rows } = await database.statement('select 1 as found from {governance.audit_heads} where writer_id = ?', [
    writerId,
  ]);
  return rows.length > 0;
}

/** A row without a link was not written by the product. */
async function firstUnchained(database: Database): Promise<Break | null> {
  const { rows } = await database.statement<{ audit_id: number; writer_id: string | null }>(
    `select a.audit_id, a.writer_id from {governance.write_audit} a
     where not exists (select 1 from {governance.audit_chain} c where c.audit_id = a.audit_id)
     order by a.audit_id limit 1`,
  );
  const row = rows[0];
  if (row === undefined) return null;
  return { writerId: row.writer_id ?? '', seq: 0, auditId: String(row.audit_id), problem: 'not_chained' };
}

/** Every writer with links or a head. Heads are read before links, so that a chain that grows meanwhile does not look truncated. */
async function headsOf(database: Database): Promise<ReadonlyMap<string, Head | undefined>> {
  const heads = await database.statement<Head>('select writer_id, seq, chain_sha from {governance.audit_heads}');
  const writers = await database.statement<{ writer_id: string }>(
    'select distinct writer_id from {governance.audit_chain}',
  );
  const found = new Map<string, Head | undefined>(writers.rows.map(({ writer_id }) => [writer_id, undefined]));
  for (const head of heads.rows) found.set(head.writer_id, head);
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Recomputes every chain from its start to its head and compares each row with its last link. */
export async function verifyChain(database: Database): Promise<AuditVerification> {
  const heads = await headsOf(database);
  let links = 0;
  for (const [writerId, head] of heads) {
    const checked = await verifyWriter(database, writerId, head);
    links += checked.links;
    if (checked.broken !== null) return { ok: false, writers: heads.size, links, broken: checked.broken };
  }
  const broken = await firstUnchained(database);
  return { ok: broken === null, writers: heads.size, links, broken };
}
