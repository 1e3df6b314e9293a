import { type Database, jsonTexts } from 'mortise/sdk';
import type { Postings } from '../index/postings.js';
import { Kept } from './kept.js';

/** What is known of a memory to score it. */
export interface Document {
  readonly seq: number;
  readonly memoryId: string;
  /** The term that stands for its space. */
  readonly spaceTerm: string;
  readonly length: number;
  readonly postings: Postings;
}

/** Documents of the index, in no order. */
export type ReadDocuments = (seqs: readonly number[]) => Promise<readonly Document[]>;

interface DocumentColumns {
  readonly seq: number;
  readonly memory_id: string;
  readonly space: string;
  readonly length: number;
  readonly postings: Uint8Array;
  readonly analysis: string;
}

/** Bytes that are kept at the most. */
const MOST_BYTES = 32 * 1024 * 1024;

/** What a document takes beside its postings. */
const BYTES_BESIDE = 300;

/**
 * Reads documents, and keeps those of this version of the analysis: they never change under their number. Whether one
 * is still in the index is for the search engine to say.
 */
export function createDocuments(database: Database, version: string, mostBytes = MOST_BYTES): ReadDocuments {
  const kept = new Kept<number, Document>(mostBytes, ({ postings }) => postings.byteLength + BYTES_BESIDE);
  return async (seqs) => {
    const found: Document[] = [];
    const missing: number[] = [];
    for (const seq of seqs) {
      const document = kept.get(seq);
      if (document === undefined) missing.push(seq);
      else found.push(document);
    }
    if (missing.length === 0) return found;
    const { rows } = await database.statement<DocumentColumns>(
      `select seq, memory_id, space, length, postings, analysis from {logbook.memory_documents}
       where seq in (select cast(value as bigint) from ${jsonTexts(database.dialect)} wanted)`,
      [JSON.stringify(missing)],
    );
    for (const { seq, memory_id: memoryId, space: spaceTerm, length, postings, analysis } of rows) {
      const document = { seq, memoryId, spaceTerm, length, postings };
      if (analysis === version) kept.keep(seq, document);
      found.push(document);
    }
    return found;
  };
}
