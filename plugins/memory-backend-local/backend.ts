import type { LedgerMemory } from 'mortise/contracts/logbook';
import type { BackendMemory, MemoryBackend, MemoryBackendFacts } from 'mortise/sdk';
import type { Rerank } from './rerank.js';
import { type SearchDeps, searchMemories } from './search/search-memories.js';
import { storeMemories } from './store/store-memories.js';

/**
 * The backend `local`: memories in the ledger, with an index in the same database.
 *
 * @param rerank absent: hits are ordered by their words
 */
export function createBackend(facts: MemoryBackendFacts, deps: SearchDeps, rerank?: Rerank): MemoryBackend {
  const { database, logbook, engine, analysis } = deps;
  return {
    ...facts,
    async store(item, { trx }) {
      const [stored] = await storeMemories(database, engine, analysis, [item], { trx });
      return stored ?? { id: '' };
    },
    storeMany: (items, { trx }) => storeMemories(database, engine, analysis, items, { trx }),
    async search(search, ctx) {
      const unknownFilters = Object.keys(search.filters.other ?? {});
      if (rerank === undefined) return { hits: await searchMemories(deps, search), unknownFilters };
      // The score of a hit depends on all hits, so the minimum applies afterwards.
      const { minScore = 0, ...filters } = search.filters;
      const hits = await rerank(search.query, await searchMemories(deps, { ...search, filters }), ctx);
      return { hits: hits.filter(({ score }) => score >= minScore), unknownFilters };
    },
    async get(id) {
      // A memory without a document is not in this backend: no search finds it.
      const { changes } = await database.statement(
        'select 1 as one from {logbook.memory_documents} where memory_id = ?',
        [id],
      );
      if (changes === 0) return null;
      const [memory] = await logbook.ledger.byBackendIds('local', [id]);
      return memory === undefined ? null : toBackendMemory(memory);
    },
    async health() {
      const ok = await database.ping();
      return { ok, detail: ok ? 'ready' : 'the database does not answer' };
    },
  };
}

function toBackendMemory(memory: LedgerMemory): BackendMemory {
  return {
    id: memory.backendMemoryId ?? '',
    content: memory.payload ?? '',
    space: memory.space,
    metadata: memory.meta,
    createdAt: memory.createdAt,
  };
}
