import { createHash } from 'node:crypto';
import { type AuditRow, type ChainHead, type ChainLink, type Evidence, groupBy } from '../evidence.js';
import { rowSha } from '../row-sha.js';

const START = '0'.repeat(64);

function bySeq(a: ChainLink, b: ChainLink): number {
  return Number(a.seq) - Number(b.seq);
}

function firstBreak(links: readonly ChainLink[], head: ChainHead | undefined): string | null {
  let previous = START;
  for (const [index, { seq, row_sha, chain_sha }] of [...links].sort(bySeq).entries()) {
    if (Number(seq) !== index + 1) return `link ${index + 1} is missing`;
    const expected = createHash('sha256')
      .update(previous + row_sha)
      .digest('hex');
    if (chain_sha !== expected) return `link ${seq} does not follow from the previous one`;
    previous = chain_sha;
  }
  if (Number(head?.seq) !== links.length) return `link ${links.length} is the last, and its head is ${head?.seq}`;
  return head?.chain_sha === previous ? null : 'the hash of the head differs from that of the last link';
}

/** Why an audit row does not match its links; null when it does. */
function mismatch(row: AuditRow, links: readonly ChainLink[], dialect: Evidence['dialect']): string | null {
  const inserted = links.filter(({ phase }) => phase === 'insert');
  const settled = links.filter(({ phase }) => phase === 'final');
  if (inserted.length !== 1) return inserted.length === 0 ? 'is in no chain' : 'is in the chains more than once';
  if (settled.length > 1) return `was settled ${settled.length} times`;
  const last = settled[0] ?? inserted[0];
  if (last === undefined) return 'is in no chain';
  return last.row_sha === rowSha(row, last.hash_version, dialect) ? null : 'differs from its last link';
}

/** The hash chain of every writer is complete up to its head, and every audit row is unchanged in one of them. */
export function* chain({ chain, heads, audits, dialect }: Evidence): Iterable<string> {
  const headOf = new Map(heads.map((head) => [head.writer_id, head]));
  const links = groupBy(chain, ({ writer_id }) => writer_id);
  for (const writer of new Set([...links.keys(), ...headOf.keys()])) {
    const why = firstBreak(links.get(writer) ?? [], headOf.get(writer));
    if (why !== null) yield `In the chain of ${writer}, ${why}.`;
  }
  const byRow = groupBy(chain, ({ audit_id }) => audit_id);
  for (const row of audits) {
    const why = mismatch(row, byRow.get(row.audit_id) ?? [], dialect);
    if (why !== null) yield `Audit row ${row.audit_id} ${why}.`;
  }
}
