import type { LogbookService } from 'mortise/contracts/logbook';
import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import type { Database, Logger } from 'mortise/sdk';
import type { SearchEngine } from '../engine/search-engine.js';
import { indexText, indexVersion } from '../index/index-text.js';
import { spaceTerm } from '../index/space-term.js';

export interface ReindexParts {
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly analysis: TextAnalysis;
  readonly engine: SearchEngine;
  readonly log: Logger;
}

const BATCH = 100;

async function reindexBatch(parts: ReindexParts): Promise<number> {
  const { database, logbook, analysis, engine } = parts;
  return database.transaction(async (trx) => {
    const { rows } = await database.statement<{ seq: number; memory_id: string }>(
      `select seq, memory_id from {logbook.memory_documents} where analysis <> ? order by seq limit ${BATCH}
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
        'update {logbook.memory_documents} set length = ?, postings = ?, analysis = ? where seq = ?',
        [length, postings, indexVersion(analysis), seq],
        { trx },
      );
      await engine.replace({ seq, spaceTerm: spaceTerm(memory?.space ?? ''), terms }, { trx });
    }
    return rows.length;
  });
}

/**
 * Indexes anew what an earlier analysis indexed, batch by batch, so that stores and searches go on meanwhile. Several
 * processes may do it at once, and it may be broken off at any time.
 *
 * @returns the number of memories indexed anew.
 */
export async function reindex(parts: ReindexParts, signal: AbortSignal): Promise<number> {
  let done = 0;
  for (;;) {
    if (signal.aborted) return done;
    const batch = await reindexBatch(parts);
    done += batch;
    if (batch === 0) break;
  }
  if (done > 0) parts.log.info({ memories: done }, 'Memories were indexed anew for a changed text analysis.');
  return done;
}
