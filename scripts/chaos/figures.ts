import { type AuditRow, type Evidence, evidenceOf } from './checker/evidence.js';
import type { Acknowledgement } from './load/acknowledgement.js';

type Counts = Readonly<Record<string, number>>;

/** Counts each word, most frequent first. */
function tally(words: Iterable<string>): Counts {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return Object.fromEntries([...counts].sort((a, b) => b[1] - a[1]));
}

function outcome({ promised, finalSpace, memory }: Acknowledgement): string {
  if (promised.kind === 'refused') return `refused: ${promised.why.slice(0, 80)}`;
  const where = finalSpace === null || finalSpace === memory.space ? '' : ' elsewhere';
  const when = 'isRepeat' in promised && promised.isRepeat ? ' before' : '';
  return `${promised.kind}${where}${when}`;
}

const auditReasons: readonly string[] = [
  'outbox_flush_retry',
  'outbox_flush_dedup_hit',
  'outbox_flush_conflict',
  'outbox_flush_db_timeout',
  'outbox_flush_db_error',
  'outbox_stale',
  'OPENMEMORY_WRITE_FAILED:recovered_after_crash',
];

function event(audit: AuditRow): string[] {
  if (evidenceOf(audit).recovered === true) return ['recovered: found in the backend'];
  return auditReasons.filter((reason) => audit.reason === reason);
}

/** Statistics of a run. */
export interface Figures {
  /** Requests by promise; `elsewhere`: in another space than requested. */
  readonly requests: Counts;
  readonly outbox: Counts;
  readonly ledger: Counts;
  readonly backend: Counts;
  readonly audits: number;
  readonly links: number;
  /** Retries, takeovers and recoveries in the audit trail. */
  readonly events: Counts;
}

export function figuresOf(acknowledgements: readonly Acknowledgement[], evidence: Evidence): Figures {
  return {
    requests: tally(acknowledgements.map(outcome)),
    outbox: tally(evidence.outbox.map(({ status }) => status)),
    ledger: tally(evidence.ledger.map(({ state }) => state)),
    backend: tally(evidence.journal.map((line) => line.as)),
    audits: evidence.audits.length,
    links: evidence.chain.length,
    events: tally(evidence.audits.flatMap(event)),
  };
}
