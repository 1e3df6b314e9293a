import type { LogbookService } from 'mortise/contracts/logbook';
import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import type { Database, Logger } from 'mortise/sdk';
import type { SearchEngine } from '../engine/search-engine.js';
import { conversationOf } from './conversation.js';
import { indexText, indexVersion, spaceTerm } from './index-text.js';

interface ReindexDeps {
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly analysis: TextAnalysis;
  readonly engine: SearchEngine;
  readonly log: Logger;
}

const batchSize = 100;

async function reindexBatch(deps: ReindexDeps): Promise<number> {
  const { database, logbook, analysis, engine } = deps;
  return database.transaction(async (trx) => {
    const { rows } = await database.statement<{ seq: number; memory_id: string }>(
      `select seq, memory_id from {logbook.memory_documents} where analysis <> ? order by seq limit ${batchSize}
       ${database.dialect === 'postgres' ? 'for update skip locked' : ''}`,
      [indexVersion(analysis)],
      { trx },
    );
    const ids = rows.map(({ memory_id }) => memory_id);
    const memories = new Map(
      (await logbook.ledger.byBackendIds('local', ids, { trx })).map((memory) => [memory.backendMemoryId, memory]),
    );
    for (const { seq, memory_id } of rows) {
      const memory = memories.get(memory_id);
      const { length, postings, terms } = indexText(analysis, memory?.payload ?? '');
      await database.statement(
        `update {logbook.memory_documents} set length = ?, postings = ?, analysis = ?, conversation = ? where seq = ?`,
        [length, postings, indexVersion(analysis), memory === undefined ? null : conversationOf(memory), seq],
        { trx },
      );
      await engine.replace({ seq, spaceTerm: spaceTerm(memory?.space ?? ''), terms }, { trx });
    }
    return rows.length;
  });
}

/**
 * Indexes memories of another analysis version again, batch by batch, while stores and searches continue. Several
 * processes may run it concurrently, and it may be aborted at any time.
 *
 * @returns the number of memories indexed.
 */
export async function reindex(deps: ReindexDeps, signal: AbortSignal): Promise<number> {
  let done = 0;
  for (;;) {
    if (signal.aborted) return done;
    const batch = await reindexBatch(deps);
    done += batch;
    if (batch === 0) break;
  }
  if (done > 0) deps.log.info({ memories: done }, 'Memories were indexed again for a changed text analysis.');
  return done;
}
