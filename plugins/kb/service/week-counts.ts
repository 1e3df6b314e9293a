import { setTimeout as delay } from 'node:timers/promises';
import { createDrain, type Logger } from 'mortise/sdk';
import type { WeekCounts } from '../index/day-counts.js';
import type { Thread } from '../threads/thread.js';

/** Counts failures and empty answers. They are kept in the index, so that a restart does not forget them. */
interface Counting {
  note(kind: keyof WeekCounts): void;
  read(): Promise<WeekCounts>;
  /** Writes the pending counts where that is possible. */
  close(): Promise<void>;
}

const patienceMs = 1_000;

export function createCounting({
  reader,
  worker,
  log,
}: {
  readonly reader: Thread;
  readonly worker: Thread;
  readonly log: Logger;
}): Counting {
  /** Counts that are not written yet; they stay here while the index cannot be written. */
  let waiting: WeekCounts = { errors: 0, empty: 0 };
  const writing = createDrain(async () => {
    const counts = waiting;
    if (counts.errors + counts.empty === 0) return;
    waiting = { errors: 0, empty: 0 };
    const isWritten = await worker.call('count', [counts]).catch((error: unknown) => {
      log.debug({ err: error }, 'The counts of the knowledge base were not written.');
      return false;
    });
    if (!isWritten) waiting = sum(waiting, counts);
  });
  return {
    note: (kind) => {
      waiting = { ...waiting, [kind]: waiting[kind] + 1 };
      writing.request();
    },
    read: async () => {
      // Counts that are being written are in neither place. This does not wait for a long refresh, which delays the write.
      await Promise.race([writing.idle(), delay(patienceMs, undefined, { ref: false })]);
      return sum(waiting, await reader.call('counts', []).catch(() => ({ errors: 0, empty: 0 })));
    },
    close: () => {
      writing.request();
      return writing.idle();
    },
  };
}

function sum(one: WeekCounts, other: WeekCounts): WeekCounts {
  return { errors: one.errors + other.errors, empty: one.empty + other.empty };
}
