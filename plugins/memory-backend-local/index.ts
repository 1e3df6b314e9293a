import type { MemoryBackendFacts, PluginDefinition } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { createBackend } from './create-backend.js';
import { createEngine } from './engine/create-engine.js';
import { indexVersion } from './index/index-text.js';
import { migrations } from './migrations/index.js';
import { createCorpus } from './search/corpus.js';
import { createTermIndex } from './search/create-term-index.js';
import { createDocuments } from './search/documents.js';
import { createRanking } from './search/rank-matches.js';
import { reindex } from './store/reindex.js';
import { createTidying } from './store/tidy-index.js';
import { createRerank } from './vectors/rerank.js';

const TIDY_EVERY_MS = 1_000;

/** Offers the memory backend `local`. */
export default function memoryBackendLocal(): PluginDefinition<Config> {
  return {
    key: 'memory-backend-local',
    register() {},
    async start(host) {
      const database = host.use('database');
      await database.migrate(migrations);
      const { engine, count, lookUp, forget } = createTermIndex(database, createEngine(database));
      const analysis = host.use('text-analysis');
      const parts = {
        database,
        engine,
        logbook: host.use('logbook'),
        analysis,
        corpus: createCorpus(database, forget),
        count,
        lookUp,
        rank: createRanking(),
        documents: createDocuments(database, indexVersion(analysis)),
        log: host.log,
      };
      // The first count walks over the whole index; no search should wait for it.
      await parts.corpus();
      const facts: MemoryBackendFacts = host.facts('memory-backend', 'local');
      const { embedder } = host.config;
      const rerank =
        embedder === undefined
          ? undefined
          : createRerank(embedder, { database, points: host.points, audit: host.use('audit'), log: host.log });
      host.contribute('memory-backend', 'local', createBackend(facts, parts, rerank));
      if (database.dialect === 'sqlite') host.every(TIDY_EVERY_MS, createTidying(parts));
      reindex(parts, host.signal).catch((error: unknown) => {
        // Stopped in the middle of a batch: the next start goes on with it.
        if (host.signal.aborted) return;
        host.log.error({ err: error }, 'Memories could not be indexed anew; they keep their old terms.');
      });
    },
  };
}
