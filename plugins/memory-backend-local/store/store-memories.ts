import {
  type Database,
  insertRows,
  type MemoryItem,
  newUlid,
  type StoredMemory,
  type TextAnalysis,
  type TransactionOption,
} from 'mortise/sdk';
import type { SearchEngine } from '../engine/search-engine.js';
import { indexText } from '../index/index-text.js';
import { spaceTerm } from '../index/space-term.js';

const documentsTarget = {
  table: 'logbook.memory_documents',
  columns: ['memory_id', 'space', 'length', 'postings', 'analysis'],
  suffix: 'returning seq',
};

/** Indexes memories in the transaction of their ledger rows, which hold the texts. */
export async function storeMemories(
  database: Database,
  engine: SearchEngine,
  analysis: TextAnalysis,
  items: readonly MemoryItem[],
  options: TransactionOption,
): Promise<readonly StoredMemory[]> {
  const indexed = items.map((item) => ({
    id: `mem_${newUlid()}`,
    spaceTerm: spaceTerm(item.space),
    ...indexText(analysis, item.content),
  }));
  const rows = await insertRows<{ seq: number }>(
    database,
    documentsTarget,
    indexed.map(({ id, spaceTerm: space, length, postings }) => [id, space, length, postings, analysis.version]),
    options,
  );
  // Numbers are given out in the order of the rows, but may be returned in another.
  const seqs = rows.map(({ seq }) => seq).sort((a, b) => a - b);
  await engine.add(
    indexed.map(({ spaceTerm, terms }, index) => ({ seq: seqs[index] ?? 0, spaceTerm, terms })),
    options,
  );
  return indexed.map(({ id }) => ({ id }));
}
