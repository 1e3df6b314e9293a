import { setImmediate as nextTurn } from 'node:timers/promises';
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
import { indexText, indexVersion } from '../index/index-text.js';
import { spaceTerm } from '../index/space-term.js';

const documentsTarget = {
  table: 'logbook.memory_documents',
  columns: ['memory_id', 'space', 'length', 'postings', 'analysis'],
  suffix: 'returning seq',
};

const OWN_KEY = /^mk_([0-9a-z]{26})$/;

/** The id that a memory has here: the same however often it is delivered. */
function idOf({ memoryKey }: MemoryItem): string {
  return `mem_${OWN_KEY.exec(memoryKey)?.[1] ?? newUlid()}`;
}

/**
 * Indexes memories in the transaction of their ledger rows, which hold the texts. Without one they are delivered after
 * their ledger rows, perhaps not for the first time: a process may have ended before it could write down that they are
 * here.
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

/** A long text takes a second: between texts others get their turn when so many milliseconds have passed. */
const LONGEST_STRETCH_MS = 10;

async function indexItems(analysis: TextAnalysis, items: readonly MemoryItem[]) {
  let since = performance.now();
  const indexed = [];
  for (const item of items) {
    if (performance.now() - since > LONGEST_STRETCH_MS) {
      await nextTurn();
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
  // Numbers are given out in the order of the rows, but may be returned in another.
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
