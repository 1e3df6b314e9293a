import type { AuditService } from 'mortise/contracts/logbook';
import type { Logger, Refusal } from 'mortise/sdk';
import { createRefusalTally } from './refusal-tally.js';

/** Turns what the host refused into audit rows, one for each subject, target and second. */
export interface RefusalAudit {
  add(refusal: Refusal): void;
  /** Writes the seconds that have passed, or everything. What cannot be written is kept for the next time. */
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
        log.warn({ err: error, rows: entries.length }, 'Refusals could not be audited yet.');
      }
    },
  };
}
