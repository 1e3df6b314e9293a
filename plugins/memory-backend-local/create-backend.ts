import type { LedgerMemory } from 'mortise/contracts/logbook';
import type { BackendMemory, MemoryBackend, MemoryBackendFacts } from 'mortise/sdk';
import { type SearchParts, searchMemories } from './search/search-memories.js';
import { storeMemories } from './store/store-memories.js';
import type { Rerank } from './vectors/rerank.js';

function toBackendMemory(memory: LedgerMemory): BackendMemory {
  return {
    id: memory.backendMemoryId ?? '',
    content: memory.payload ?? '',
    space: memory.space,
    metadata: memory.meta,
    createdAt: memory.createdAt,
  };
}

/**
 * The backend `local`: memories in the ledger, found by an index in the same database.
 *
 * @param rerank absent: hits are in the order of their words
 */
export function createBackend(facts: MemoryBackendFacts, parts: SearchParts, rerank?: Rerank): MemoryBackend {
  const { database, logbook, engine, analysis } = parts;
  return {
    ...facts,
    async store(item, { trx }) {
      const [stored] = await storeMemories(database, engine, analysis, [item], { trx });
      return stored ?? { id: '' };
    },
    storeMany: (items, { trx }) => storeMemories(database, engine, analysis, items, { trx }),
    async search(search, ctx) {
      const unknownFilters = Object.keys(search.filters.other ?? {});
      if (rerank === undefined) return { hits: await searchMemories(parts, search), unknownFilters };
      // What a hit scores is known only once all of them are.
      const { minScore = 0, ...filters } = search.filters;
      const hits = await rerank(search.query, await searchMemories(parts, { ...search, filters }), ctx);
      return { hits: hits.filter(({ score }) => score >= minScore), unknownFilters };
    },
    async get(id) {
      // A memory whose search row is gone is not in this backend: no search finds it.
      const { changes } = await database.statement(
        'select 1 as one from {logbook.memory_documents} where memory_id = ?',
        [id],
      );
      if (changes === 0) return null;
      const [memory] = await logbook.ledger.byBackendIds('local', [id]);
      return memory === undefined ? null : toBackendMemory(memory);
    },
    async health() {
      const isThere = await database.ping();
      return { ok: isThere, detail: isThere ? 'ready' : 'the database does not answer' };
    },
  };
}
