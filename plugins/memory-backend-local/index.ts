import type { MemoryBackendFacts, PluginDefinition } from 'mortise/sdk';
import { createBackend } from './backend.js';
import type { Config } from './config.generated.js';
import { migrations } from './migrations.js';
import { createRerank } from './rerank.js';
import { createCorpus } from './search/corpus.js';
import { createDocuments } from './search/documents.js';
import { createRanking } from './search/rank-matches.js';
import { createTermIndex } from './search/term-index.js';
import { indexVersion } from './store/index-text.js';
import { createIndexMerger } from './store/merge-index.js';
import { reindex } from './store/reindex.js';

const mergeEveryMs = 1_000;

/** The memory backend `local`. */
export default function memoryBackendLocal(): PluginDefinition<Config> {
  return {
    key: 'memory-backend-local',
    async start(host) {
      const database = host.use('database');
      await database.migrate(migrations);
      const { engine, count, lookUp, clear } = createTermIndex(database);
      const analysis = host.use('text-analysis');
      const deps = {
        database,
        engine,
        logbook: host.use('logbook'),
        analysis,
        corpus: createCorpus(database, clear),
        count,
        lookUp,
        rank: createRanking(),
        documents: createDocuments(database, indexVersion(analysis)),
        log: host.log,
      };
      // The first read scans the whole index; no search should wait for it.
      await deps.corpus();
      const facts: MemoryBackendFacts = host.facts('memory-backend', 'local');
      const { embedder } = host.config;
      const rerank =
        embedder === undefined
          ? undefined
          : createRerank(embedder, { database, points: host.points, audit: host.use('audit'), log: host.log });
      host.contribute('memory-backend', 'local', createBackend(facts, deps, rerank));
      if (database.dialect === 'sqlite') host.every(mergeEveryMs, createIndexMerger(deps));
      reindex(deps, host.signal).catch((error: unknown) => {
        // Stopped during a batch: the next start continues.
        if (host.signal.aborted) return;
        host.log.error({ err: error }, 'Memories could not be indexed again; they keep their old terms.');
      });
    },
  };
}
