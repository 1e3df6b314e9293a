import type { Database, Logger } from 'mortise/sdk';
import type { SearchEngine } from '../engine/search-engine.js';

interface MergeDeps {
  readonly database: Database;
  readonly engine: SearchEngine;
  readonly log: Logger;
}

/** Duration of one run; a request waits for one step of it at most, which takes a few milliseconds. */
const maxRunMs = 50;

/**
 * Merges the segments of the engine's index in short runs while nothing is stored: stores then need not merge, and
 * searches read few segments.
 */
export function createIndexMerger({ database, engine, log }: MergeDeps): (signal: AbortSignal) => Promise<void> {
  let newest: number | undefined;
  let isMerged = false;
  let isFailing = false;

  const isIdle = async (): Promise<boolean> => {
    const { rows } = await database.statement<{ newest: number | null }>(
      'select max(seq) as newest from {logbook.memory_documents}',
    );
    const last = newest;
    newest = rows[0]?.newest ?? 0;
    if (newest !== last) {
      isMerged = false;
      isFailing = false;
    }
    return newest === last;
  };

  return async (signal) => {
    try {
      if (!(await isIdle()) || isMerged) return;
      const end = performance.now() + maxRunMs;
      while (!isMerged && !signal.aborted && performance.now() < end) isMerged = !(await engine.merge());
    } catch (error) {
      if (signal.aborted) return;
      // Searches still work, so the next attempt waits for the next store.
      isMerged = true;
      if (!isFailing) log.warn({ err: error }, 'The index of memories could not be merged; searches are slower.');
      isFailing = true;
    }
  };
}
