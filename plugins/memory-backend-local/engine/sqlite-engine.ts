import { type Database, insertRows, jsonTexts, type TransactionOption } from 'mortise/sdk';
import type { EngineQuery, SearchEngine } from './search-engine.js';

const rowsTarget = { table: 'logbook.memory_fts', columns: ['rowid', 'space', 'terms'] };

/** Pages that one step of tidying writes: a few milliseconds of work. */
const MERGED_PAGES = 32;

/** Terms hold letters, digits and `_` only: quoting them is all the escaping there is. */
function anyOf(terms: readonly string[]): string {
  return `(${terms.map((term) => `"${term}"`).join(' OR ')})`;
}

function matchText({ spaceTerms, all }: EngineQuery): string {
  const groups = spaceTerms.length === 0 ? all : [spaceTerms, ...all];
  return groups.map(anyOf).join(' AND ');
}

/** FTS5, for which memories have which terms. Its own rank is not asked for: that costs 3 µs for each match. */
export function sqliteEngine(database: Database): SearchEngine {
  const remove = async (seq: number, options: TransactionOption): Promise<void> => {
    await database.statement('delete from {logbook.memory_fts} where rowid = ?', [seq], options);
  };

  return {
    async add(rows, options) {
      const bindings = rows.map(({ seq, spaceTerm, terms }) => [seq, spaceTerm, terms.join(' ')]);
      await insertRows(database, rowsTarget, bindings, options);
    },
    async replace({ seq, spaceTerm, terms }, options) {
      await remove(seq, options);
      await insertRows(database, rowsTarget, [[seq, spaceTerm, terms.join(' ')]], options);
    },
    remove,
    async frequencies(terms) {
      const { rows } = await database.statement<{ term: string; doc: number }>(
        `select term, doc from {logbook.memory_vocabulary} where term in ${jsonTexts('sqlite')}`,
        [JSON.stringify(terms)],
      );
      return new Map(rows.map(({ term, doc }) => [term, doc]));
    },
    async newest(queries, before, limit) {
      // One row for each query, its memories as text: reading a row of its own for each of them costs twice as much.
      const { rows } = await database.statement<{ seqs: string | null }>(
        `select (
           select group_concat(seq) from (
             select rowid as seq from {logbook.memory_fts} where {logbook.memory_fts} match value and rowid < ?
             order by rowid desc limit ?)
         ) as seqs from json_each(?) order by key`,
        [before, limit, JSON.stringify(queries.map(matchText))],
      );
      return rows.map(({ seqs }) => (seqs === null ? [] : (JSON.parse(`[${seqs}]`) as number[])));
    },
    async tidy() {
      const changes = { sql: 'select total_changes() as n' };
      const merge = {
        sql: `insert into {logbook.memory_fts} ({logbook.memory_fts}, rank) values ('merge', ${MERGED_PAGES})`,
      };
      const results = await database.transaction((trx) => database.batch([changes, merge, changes], { trx }));
      const [before = 0, after = 0] = [results[0], results[2]].map((result) => Number(result?.rows[0]?.n));
      // The insert that asks for the merge counts as one change.
      return after - before > 1;
    },
  };
}
