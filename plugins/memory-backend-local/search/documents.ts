import { type Database, jsonTexts } from 'mortise/sdk';
import type { Postings } from '../store/postings.js';
import { GenerationCache } from './cache.js';

/** The indexed data of a memory that its score depends on. */
export interface Document {
  readonly seq: number;
  readonly memoryId: string;
  /** The term of its space. */
  readonly spaceTerm: string;
  /** The key of its conversation. */
  readonly conversation: string | null;
  readonly length: number;
  readonly postings: Postings;
}

/** Reads documents of the index; the order is undefined. */
export type ReadDocuments = (seqs: readonly number[]) => Promise<readonly Document[]>;

interface DocumentColumns {
  readonly seq: number;
  readonly memory_id: string;
  readonly space: string;
  readonly length: number;
  readonly postings: Uint8Array;
  readonly analysis: string;
  readonly conversation: string | null;
}

const maxCacheBytes = 32 * 1024 * 1024;

/** Overhead of a document besides its postings. */
const documentOverhead = 300;

/**
 * Reads documents, and caches those of this version of the analysis, which never change under their `seq`. A cached
 * document may have been removed: the search engine decides which ones are in the index.
 */
export function createDocuments(database: Database, version: string, limit = maxCacheBytes): ReadDocuments {
  const cache = new GenerationCache<number, Document>(limit, ({ postings }) => postings.byteLength + documentOverhead);
  return async (seqs) => {
    const found: Document[] = [];
    const missing: number[] = [];
    for (const seq of seqs) {
      const document = cache.get(seq);
      if (document === undefined) missing.push(seq);
      else found.push(document);
    }
    if (missing.length === 0) return found;
    const { rows } = await database.statement<DocumentColumns>(
      `select seq, memory_id, space, length, postings, analysis, conversation from {logbook.memory_documents}
       where seq in (select cast(value as bigint) from ${jsonTexts(database.dialect)} wanted)`,
      [JSON.stringify(missing)],
    );
    for (const { seq, memory_id: memoryId, space: spaceTerm, length, postings, analysis, conversation } of rows) {
      const document = { seq, memoryId, spaceTerm, conversation, length, postings };
      if (analysis === version) cache.set(seq, document);
      found.push(document);
    }
    return found;
  };
}
