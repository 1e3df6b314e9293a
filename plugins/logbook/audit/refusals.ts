import type { AuditService } from 'mortise/contracts/logbook';
import type { AuditEntry, Logger, Refusal } from 'mortise/sdk';

/** Refusals of one kind by one subject at one target within one second. */
interface Tally {
  readonly refusal: Refusal;
  /** Epoch milliseconds of the first. */
  readonly first: number;
  count: number;
}

/** Above this many distinct tallies, subjects are merged into `many`. */
const MOST_TALLIES = 2_000;

/** Counts refusals, so that a flood becomes one audit row per second instead of a full disk. */
interface RefusalTally {
  add(refusal: Refusal): void;
  /** Removes and returns the rows of completed seconds, or all of them. */
  take(everything?: boolean): readonly AuditEntry[];
  /** Returns rows that could not be written. */
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
    reason: `${refusal.reason}:${refusal.target}`,
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

/** Writes refusals by the host as audit rows, one per subject, target and second. */
export interface RefusalAudit {
  add(refusal: Refusal): void;
  /** Writes completed seconds, or everything. Rows that cannot be written are retried with the next flush. */
  flush(everything?: boolean): Promise<void>;
}

export function createRefusalAudit(audit: AuditService, log: Logger, now: () => number = Date.now): RefusalAudit {
  const tally = createRefusalTally(now);
  return {
    add: (refusal) => tally.add(refusal),
    async flush(everything = false) {
      const entries = tally.take(everything);
      if (entries.length === 0) return;
      try {
        await audit.writeMany(entries);
      } catch (error) {
        tally.restore(entries);
        log.warn({ err: error, rows: entries.length }, 'refusals could not be audited yet');
      }
    },
  };
}
