import type { LedgerMemory, LedgerState } from 'mortise/contracts/logbook';
import { type Database, jsonTexts, type SqlValue, type TransactionOption } from 'mortise/sdk';
import { type MemoryColumns, memoryColumns, memoryOf } from './memory-columns.js';

/** Rows one of whose columns has one of the values. */
export async function memoriesBy(
  database: Database,
  column: 'memory_key' | 'payload_sha',
  values: readonly string[],
  options?: TransactionOption,
): Promise<readonly LedgerMemory[]> {
  if (values.length === 0) return [];
  const { rows } = await database.statement<MemoryColumns>(
    `select ${memoryColumns} from {logbook.memories} where ${column} in ${jsonTexts(database.dialect)}`,
    [JSON.stringify(values)],
    options,
  );
  return rows.map((row) => memoryOf(database, row));
}

export interface LedgerPage {
  readonly after: number;
  readonly limit: number;
  readonly backend?: string | undefined;
  readonly states?: readonly LedgerState[] | undefined;
  readonly space?: string | undefined;
}

/** Rows in the order they were written, from behind `after`. */
export async function pageOfMemories(
  database: Database,
  { after, limit, backend, states, space }: LedgerPage,
  options?: TransactionOption,
): Promise<readonly LedgerMemory[]> {
  const where: [string, SqlValue][] = [['seq > ?', after]];
  if (backend !== undefined) where.push(['backend = ?', backend]);
  if (states !== undefined) where.push([`state in ${jsonTexts(database.dialect)}`, JSON.stringify(states)]);
  if (space !== undefined) where.push(['space = ?', space]);
  const { rows } = await database.statement<MemoryColumns>(
    `select ${memoryColumns} from {logbook.memories} where ${where.map(([sql]) => sql).join(' and ')}
     order by seq limit ?`,
    [...where.map(([, binding]) => binding), limit],
    options,
  );
  return rows.map((row) => memoryOf(database, row));
}
