import type { AuditEntry, Refusal } from 'mortise/sdk';

/** Refusals of one kind by one subject at one target within one second. */
interface Tally {
  readonly refusal: Refusal;
  /** Epoch milliseconds of the first. */
  readonly first: number;
  count: number;
}

/** A flood from more places than this is counted under its reason and target alone. */
const MOST_TALLIES = 2_000;

/** The words the audit trail uses for what the host refused. */
const auditReasons: Readonly<Record<Refusal['reason'], string>> = {
  auth_failed: 'auth_failed',
  host_refused: 'origin_refused',
  origin_refused: 'origin_refused',
  rate_limited: 'rate_limited',
  admin_required: 'admin_required',
  forbidden: 'forbidden',
};

/** Counts refusals, so that a flood of them becomes one audit row a second and not a full disk. */
export interface RefusalTally {
  add(refusal: Refusal): void;
  /** The rows of all seconds that have passed, or of everything; they are counted no more. */
  take(everything?: boolean): readonly AuditEntry[];
  /** Gives back what could not be written. */
  restore(entries: readonly AuditEntry[]): void;
}

export function createRefusalTally(now: () => number = Date.now): RefusalTally {
  const tallies = new Map<string, Tally>();
  let unwritten: readonly AuditEntry[] = [];

  return {
    add(refusal) {
      const second = Math.floor(now() / 1_000);
      const subject = tallies.size < MOST_TALLIES ? refusal.subject : 'many';
      const key = `${second} ${refusal.reason} ${refusal.target} ${subject}`;
      const tally = tallies.get(key);
      if (tally === undefined) tallies.set(key, { refusal: { ...refusal, subject }, first: now(), count: 1 });
      else tally.count += 1;
    },
    take(everything = false) {
      const second = Math.floor(now() / 1_000);
      const entries = [...unwritten];
      unwritten = [];
      for (const [key, tally] of tallies) {
        if (!everything && Math.floor(tally.first / 1_000) === second) continue;
        tallies.delete(key);
        entries.push(toEntry(tally));
      }
      return entries;
    },
    restore(entries) {
      unwritten = [...entries, ...unwritten].slice(0, MOST_TALLIES);
    },
  };
}

function toEntry({ refusal, first, count }: Tally): AuditEntry {
  return {
    action: 'reject',
    operation: 'gate',
    reason: `${auditReasons[refusal.reason]}:${refusal.target}`,
    principal: refusal.subject,
    correlationId: refusal.correlationId,
    evidence: {
      source: 'gateway',
      count,
      refused: refusal.reason,
      first_at: new Date(first).toISOString(),
      correlation_id: refusal.correlationId,
    },
  };
}
