import type { LedgerMemory, LedgerState, LedgerTextHit, MemoryLedger } from 'mortise/contracts/logbook';
import { type Database, jsonTexts } from 'mortise/sdk';
import { questionCondition, questionScore } from '../text-question.js';
import { ledgerTransitions } from './move-memories.js';
import {
  type MemoryColumns,
  matchesFilters,
  memoriesBy,
  memoryColumns,
  memoryOf,
  pageOfMemories,
  readPages,
} from './read-memories.js';
import { findDuplicates, insertMemories } from './write-memories.js';

/** Newest possible matches scanned per plain-text search. */
const MOST_SCANNED = 2_000;

function bestFirst(a: LedgerTextHit, b: LedgerTextHit): number {
  return b.score - a.score || b.memory.seq - a.memory.seq;
}

const allStates: readonly LedgerState[] = ['writing', 'active', 'queued', 'dead', 'merged', 'void'];

/** Spelled out in a fixed order, so that the partial index on undelivered memories is used. */
function stateSql(states: readonly LedgerState[]): string {
  const wanted = allStates.filter((state) => states.includes(state)).map((state) => `'${state}'`);
  return `state in (${wanted.join(', ')})`;
}

/** The ledger of memories in `logbook.memories`. */
export function createLedger(database: Database): MemoryLedger {
  return {
    findDuplicates: (keys, options) => findDuplicates(database, keys, options),
    insert: (rows, options) => insertMemories(database, rows, options),
    ...ledgerTransitions(database),
    byKeys: (keys, options) => memoriesBy(database, 'memory_key', keys, options),
    byPayloads: (shas, options) => memoriesBy(database, 'payload_sha', shas, options),
    page: (wanted, options) => pageOfMemories(database, wanted, options),
    matches: matchesFilters,
    async byBackendIds(backend, ids, options) {
      if (ids.length === 0) return [];
      const { rows } = await database.statement<MemoryColumns>(
        `select ${memoryColumns} from {logbook.memories}
         where backend = ? and backend_memory_id in ${jsonTexts(database.dialect)}`,
        [backend, database.codec.json(ids)],
        options,
      );
      return rows.map((row) => memoryOf(database, row));
    },
    async newest({ spaces, filters, limit }, options) {
      const found: LedgerMemory[] = [];
      if (limit < 1) return found;
      const request = { spaces, filters, where: `state <> 'void'`, bindings: [] };
      for await (const memory of readPages(database, request, options)) {
        found.push(memory);
        if (found.length === limit) break;
      }
      return found;
    },
    async hasAny(spaces, states, options) {
      const { rows } = await database.statement(
        `select 1 as one from {logbook.memories} where space in ${jsonTexts(database.dialect)} and ${stateSql(states)} limit 1`,
        [database.codec.json(spaces)],
        options,
      );
      return rows.length > 0;
    },
    async searchText({ question, spaces, states, filters, limit }, options) {
      const condition = questionCondition(database, question, ['payload_md']);
      if (condition === undefined) return [];
      const request = {
        spaces,
        filters,
        where: `${stateSql(states)} and ${condition.sql}`,
        bindings: condition.bindings,
      };
      const hits: LedgerTextHit[] = [];
      for await (const memory of readPages(database, request, options)) {
        const score = questionScore(question, [memory.payload ?? '']);
        if (score > 0) hits.push({ memory, score });
        if (hits.length === MOST_SCANNED) break;
      }
      return hits.sort(bestFirst).slice(0, limit);
    },
  };
}
