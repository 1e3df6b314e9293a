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
import { conversationOf } from './conversation.js';
import { indexText, indexVersion, spaceTerm } from './index-text.js';

const documentsTarget = {
  table: 'logbook.memory_documents',
  columns: ['memory_id', 'space', 'length', 'postings', 'analysis', 'conversation'],
  suffix: 'on conflict (memory_id) do nothing returning seq',
};

const ownKey = /^mk_([0-9a-z]{26})$/;

/** The id of a memory in this backend: the same for repeated deliveries. */
function idOf({ memoryKey }: MemoryItem): string {
  return `mem_${ownKey.exec(memoryKey)?.[1] ?? newUlid()}`;
}

/**
 * Indexes memories, in the transaction of their ledger rows or in its own. A memory may have been delivered before by a
 * process that ended before it could update the ledger: its document is then replaced.
 */
export function storeMemories(
  database: Database,
  engine: SearchEngine,
  analysis: TextAnalysis,
  items: readonly MemoryItem[],
  { trx }: TransactionOption,
): Promise<readonly StoredMemory[]> {
  if (trx !== undefined) return insertDocuments(database, engine, analysis, items, trx);
  return database.transaction((own) => insertDocuments(database, engine, analysis, items, own));
}

/** Milliseconds of indexing after which the event loop runs between two texts. A long text takes a second. */
const yieldEveryMs = 10;

async function indexItems(analysis: TextAnalysis, items: readonly MemoryItem[]) {
  let since = performance.now();
  const indexed = [];
  for (const item of items) {
    if (performance.now() - since > yieldEveryMs) {
      await yieldToOthers();
      since = performance.now();
    }
    indexed.push({
      id: idOf(item),
      spaceTerm: spaceTerm(item.space),
      conversation: conversationOf(item),
      ...indexText(analysis, item.content),
    });
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
  const insert = () =>
    insertRows<{ seq: number }>(
      database,
      documentsTarget,
      indexed.map(({ id, spaceTerm, length, postings, conversation }) => {
        return [id, spaceTerm, length, postings, indexVersion(analysis), conversation];
      }),
      { trx },
    );
  let rows = await insert();
  if (rows.length < indexed.length) {
    // The new rows are not in the search index yet, the old ones are.
    for (const { seq } of rows) {
      await database.statement('delete from {logbook.memory_documents} where seq = ?', [seq], { trx });
    }
    const ids = indexed.map(({ id }) => id);
    await removeDocuments(database, engine, ids, trx);
    rows = await insert();
    if (rows.length < indexed.length) throw new Error('One delivery contains the same memory twice.');
  }
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
