import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import {
  type Database,
  insertRows,
  type MemoryItem,
  newUlid,
  type StoredMemory,
  type Transaction,
  type TransactionOption,
} from 'mortise/sdk';
import type { SearchEngine } from '../engine/search-engine.js';
import { indexText, indexVersion, spaceTerm } from './index-text.js';

const documentsTarget = {
  table: 'logbook.memory_documents',
  columns: ['memory_id', 'space', 'length', 'postings', 'analysis'],
  suffix: 'returning seq',
};

const ownKey = /^mk_([0-9a-z]{26})$/;

/** The id of a memory in this backend: the same for repeated deliveries. */
function idOf({ memoryKey }: MemoryItem): string {
  return `mem_${ownKey.exec(memoryKey)?.[1] ?? newUlid()}`;
}

/**
 * Indexes memories in the transaction of their ledger rows, which contain the texts. Without a transaction they are
 * delivered after their ledger rows, possibly again: an earlier process may have ended before it recorded the delivery.
 */
export function storeMemories(
  database: Database,
  engine: SearchEngine,
  analysis: TextAnalysis,
  items: readonly MemoryItem[],
  { trx }: TransactionOption,
): Promise<readonly StoredMemory[]> {
  if (trx !== undefined) return insertDocuments(database, engine, analysis, items, trx);
  return database.transaction(async (own) => {
    await removeDocuments(database, engine, items.map(idOf), own);
    return insertDocuments(database, engine, analysis, items, own);
  });
}

/** Milliseconds of indexing after which the event loop gets a turn between two texts: a long text takes a second. */
const yieldEveryMs = 10;

async function indexItems(analysis: TextAnalysis, items: readonly MemoryItem[]) {
  let since = performance.now();
  const indexed = [];
  for (const item of items) {
    if (performance.now() - since > yieldEveryMs) {
      await yieldToOthers();
      since = performance.now();
    }
    indexed.push({ id: idOf(item), spaceTerm: spaceTerm(item.space), ...indexText(analysis, item.content) });
  }
  return indexed;
}

async function insertDocuments(
  database: Database,
  engine: SearchEngine,
  analysis: TextAnalysis,
  items: readonly MemoryItem[],
  trx: Transaction,
): Promise<readonly StoredMemory[]> {
  const indexed = await indexItems(analysis, items);
  const rows = await insertRows<{ seq: number }>(
    database,
    documentsTarget,
    indexed.map(({ id, spaceTerm: space, length, postings }) => [id, space, length, postings, indexVersion(analysis)]),
    { trx },
  );
  // Numbers are assigned in the order of the rows, but may be returned in another order.
  const seqs = rows.map(({ seq }) => seq).sort((a, b) => a - b);
  await engine.add(
    indexed.map(({ spaceTerm, terms }, index) => ({ seq: seqs[index] ?? 0, spaceTerm, terms })),
    { trx },
  );
  return indexed.map(({ id }) => ({ id }));
}

async function removeDocuments(
  database: Database,
  engine: SearchEngine,
  ids: readonly string[],
  trx: Transaction,
): Promise<void> {
  for (const id of ids) {
    const { rows } = await database.statement<{ seq: number }>(
      'delete from {logbook.memory_documents} where memory_id = ? returning seq',
      [id],
      { trx },
    );
    for (const { seq } of rows) await engine.remove(seq, { trx });
  }
}
