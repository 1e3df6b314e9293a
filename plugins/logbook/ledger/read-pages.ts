import type { LedgerFilters, LedgerMemory } from 'mortise/contracts/logbook';
import { type Database, jsonTexts, type SqlValue, type TransactionOption } from 'mortise/sdk';
import { filterConditions, matchesFilters } from './filters.js';
import { type MemoryColumns, memoryColumns, memoryOf } from './memory-columns.js';

const PAGE = 200;

export interface PageRequest {
  readonly spaces: readonly string[];
  readonly filters: LedgerFilters;
  /** A further condition, e.g. on the state. */
  readonly where: string;
  readonly bindings: readonly SqlValue[];
}

/** Rows of the spaces that meet the filters, newest first, as far as the reader goes on. */
export async function* readPages(
  database: Database,
  request: PageRequest,
  options?: TransactionOption,
): AsyncGenerator<LedgerMemory> {
  const filters = filterConditions(database, request.filters);
  const text = `select ${memoryColumns} from {logbook.memories}
    where space in ${jsonTexts(database.dialect)} and seq < ? and ${request.where}
    ${filters.map(([sql]) => `and ${sql}`).join(' ')}
    order by seq desc limit ${PAGE}`;
  let before = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const { rows } = await database.statement<MemoryColumns>(
      text,
      [JSON.stringify(request.spaces), before, ...request.bindings, ...filters.map(([, binding]) => binding)],
      options,
    );
    for (const row of rows) {
      const memory = memoryOf(database, row);
      if (matchesFilters(memory, request.filters)) yield memory;
    }
    const last = rows.at(-1);
    if (rows.length < PAGE || last === undefined) return;
    before = last.seq;
  }
}
