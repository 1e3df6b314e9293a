import type { Database, Logger } from 'mortise/sdk';
import type { SearchEngine } from '../engine/search-engine.js';

export interface TidyParts {
  readonly database: Database;
  readonly engine: SearchEngine;
  readonly log: Logger;
}

/** Milliseconds that one run goes on for: requests wait for a step of it, a few milliseconds, at the most. */
const LONGEST_RUN_MS = 50;

/**
 * Puts the engine's index in order, a little with each run, while nothing is stored: stores then need not, and searches
 * find few places to look in.
 */
export function createTidying({ database, engine, log }: TidyParts): (signal: AbortSignal) => Promise<void> {
  let newest: number | undefined;
  let isTidy = false;
  let isFailing = false;

  const isQuiet = async (): Promise<boolean> => {
    const { rows } = await database.statement<{ newest: number | null }>(
      'select max(seq) as newest from {logbook.memory_documents}',
    );
    const last = newest;
    newest = rows[0]?.newest ?? 0;
    if (newest !== last) {
      isTidy = false;
      isFailing = false;
    }
    return newest === last;
  };

  return async (signal) => {
    try {
      if (!(await isQuiet()) || isTidy) return;
      const end = performance.now() + LONGEST_RUN_MS;
      while (!isTidy && !signal.aborted && performance.now() < end) isTidy = !(await engine.tidy());
    } catch (error) {
      if (signal.aborted) return;
      // Searches find all the same: it is tried again when something has been stored.
      isTidy = true;
      if (!isFailing)
        log.warn({ err: error }, 'The index of memories could not be put in order; searches take longer.');
      isFailing = true;
    }
  };
}
