import type { Database, Transaction } from 'mortise/sdk';
import { postgresEngine } from '../engine/postgres-engine.js';
import type { SearchEngine } from '../engine/search-engine.js';
import { sqliteEngine } from '../engine/sqlite-engine.js';
import { type CountTerms, cachedLists, createTermCounts, freshLists, type LookUpTerms } from './term-lists.js';

export function createEngine(database: Database): SearchEngine {
  return database.dialect === 'sqlite' ? sqliteEngine(database) : postgresEngine(database);
}

export interface TermIndex {
  /** Clears the cached lists when it removes or replaces a memory. */
  readonly engine: SearchEngine;
  readonly count: CountTerms;
  readonly lookUp: LookUpTerms;
  /** Drops cached lists, after another process changed the database. */
  clear(): void;
}

/** The index of terms, with cached lists on SQLite. */
export function createTermIndex(database: Database): TermIndex {
  const engine = createEngine(database);
  const count = createTermCounts(engine);
  if (database.dialect !== 'sqlite') return { engine, count, lookUp: freshLists(engine, count), clear() {} };
  const { lookUp, clear } = cachedLists(engine, count);
  const afterCommit = (trx: Transaction | undefined): void => {
    if (trx === undefined) clear();
    else database.afterCommit(trx, clear);
  };
  const clearing: SearchEngine = {
    ...engine,
    async remove(seq, { trx }) {
      await engine.remove(seq, { trx });
      afterCommit(trx);
    },
    async replace(row, { trx }) {
      await engine.replace(row, { trx });
      afterCommit(trx);
    },
  };
  return { engine: clearing, count, lookUp, clear };
}
