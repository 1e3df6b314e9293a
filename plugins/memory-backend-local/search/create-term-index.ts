import type { Database } from 'mortise/sdk';
import type { SearchEngine } from '../engine/search-engine.js';
import { freshLists } from './fresh-lists.js';
import { keptLists } from './kept-lists.js';
import { type CountTerms, createTermCounts } from './term-counts.js';
import type { LookUpTerms } from './term-matches.js';

export interface TermIndex {
  /** The engine; what it takes out or replaces is not kept either. */
  readonly engine: SearchEngine;
  readonly count: CountTerms;
  readonly lookUp: LookUpTerms;
  /** Another process has changed the database. */
  forget(): void;
}

/** Looks terms up in the engine's index, and keeps what it found where that is possible. */
export function createTermIndex(database: Database, engine: SearchEngine): TermIndex {
  const count = createTermCounts(engine);
  if (database.dialect !== 'sqlite') return { engine, count, lookUp: freshLists(engine, count), forget() {} };
  const { lookUp, forget } = keptLists(engine, count);
  const forgetting: SearchEngine = {
    ...engine,
    async remove(seq, { trx }) {
      await engine.remove(seq, { trx });
      if (trx === undefined) forget();
      else database.afterCommit(trx, forget);
    },
    async replace(row, { trx }) {
      await engine.replace(row, { trx });
      if (trx === undefined) forget();
      else database.afterCommit(trx, forget);
    },
  };
  return { engine: forgetting, count, lookUp, forget };
}
