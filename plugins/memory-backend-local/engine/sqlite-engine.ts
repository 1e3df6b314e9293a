import { type Database, insertRows, jsonTexts, type TransactionOption } from 'mortise/sdk';
import type { EngineQuery, SearchEngine } from './search-engine.js';

const rowsTarget = { table: 'logbook.memory_fts', columns: ['rowid', 'space', 'terms'] };

/** Pages written by one merge step: a few milliseconds of work. */
const mergedPages = 32;

/** Terms consist of letters, digits and `_`: quotes are the only escaping needed. */
function anyOf(terms: readonly string[]): string {
  return `(${terms.map((term) => `"${term}"`).join(' OR ')})`;
}

function matchText({ spaceTerms, all }: EngineQuery): string {
  const groups = spaceTerms.length === 0 ? all : [spaceTerms, ...all];
  return groups.map(anyOf).join(' AND ');
}

function numbers(list: string | null): readonly number[] {
  return list === null ? [] : (JSON.parse(`[${list}]`) as number[]);
}

/** FTS5, used only to find memories by terms: its own rank would cost 3 µs per match. */
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
    async matching(terms, limit) {
      // One row per term, with its memories as text: a row per memory costs twice as much, and so does reading the JSON
      // once per memory.
      const { rows } = await database.statement<{ seqs: string | null }>(
        `with wanted as materialized (
           select key, value ->> 'match' as match, value ->> 'after' as after from json_each(?)
         )
         select (
           select group_concat(seq) from (
             select rowid as seq from {logbook.memory_fts}
             where {logbook.memory_fts} match wanted.match and rowid > cast(wanted.after as integer) order by rowid limit ?)
         ) as seqs from wanted order by key`,
        [JSON.stringify(terms.map(({ term, after }) => ({ match: anyOf([term]), after }))), limit],
      );
      return rows.map(({ seqs }) => numbers(seqs));
    },
    async newest(query, before, limit) {
      const { rows } = await database.statement<{ seqs: string | null }>(
        `select group_concat(seq) as seqs from (
           select rowid as seq from {logbook.memory_fts} where {logbook.memory_fts} match ? and rowid < ?
           order by rowid desc limit ?)`,
        [matchText(query), before, limit],
      );
      return numbers(rows[0]?.seqs ?? null);
    },
    async merge() {
      const changes = { sql: 'select total_changes() as n' };
      const merge = {
        sql: `insert into {logbook.memory_fts} ({logbook.memory_fts}, rank) values ('merge', ${mergedPages})`,
      };
      const results = await database.transaction((trx) => database.batch([changes, merge, changes], { trx }));
      const [before = 0, after = 0] = [results[0], results[2]].map((result) => Number(result?.rows[0]?.n));
      // The insert that requests the merge counts as one change.
      return after - before > 1;
    },
  };
}
