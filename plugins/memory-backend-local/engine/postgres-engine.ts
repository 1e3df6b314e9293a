import { type Database, insertRows, jsonTexts, type TransactionOption } from 'mortise/sdk';
import type { EngineQuery, EngineRow, SearchEngine } from './search-engine.js';

const rowsTarget = { table: 'logbook.memory_fts', columns: ['seq', 'part', 'terms'] };

/** A tsvector holds at most 1 MiB of terms, and some bytes more for each. */
const LARGEST_PART_BYTES = 500_000;
const BYTES_PER_TERM = 8;

/** Terms hold letters, digits and `_` only: quoting them is all the escaping there is. */
function quoted(terms: readonly string[], separator: string): string {
  return terms.map((term) => `'${term}'`).join(separator);
}

/** The rows of one memory: each part has the term of the space. */
function partsOf({ seq, spaceTerm, terms }: EngineRow): [number, number, string][] {
  const parts: string[][] = [[spaceTerm]];
  let bytes = 0;
  for (const term of terms) {
    const size = Buffer.byteLength(term) + BYTES_PER_TERM;
    if (bytes + size > LARGEST_PART_BYTES) {
      parts.push([spaceTerm]);
      bytes = 0;
    }
    parts.at(-1)?.push(term);
    bytes += size;
  }
  return parts.map((part, index) => [seq, index, quoted(part, ' ')]);
}

function queryText({ spaceTerms, all }: EngineQuery): string {
  const groups = spaceTerms.length === 0 ? all : [spaceTerms, ...all];
  return groups.map((terms) => `(${quoted(terms, ' | ')})`).join(' & ');
}

/** Full-text search of PostgreSQL, without its own parser: the terms are made already. */
export function postgresEngine(database: Database): SearchEngine {
  const remove = async (seq: number, options: TransactionOption): Promise<void> => {
    await database.statement('delete from {logbook.memory_fts} where seq = ?', [seq], options);
  };

  return {
    async add(rows, options) {
      await insertRows(database, rowsTarget, rows.flatMap(partsOf), options);
    },
    async replace(row, options) {
      await remove(row.seq, options);
      await insertRows(database, rowsTarget, partsOf(row), options);
    },
    remove,
    async frequencies(terms) {
      const { rows } = await database.statement<{ term: string; doc: number }>(
        `select value as term, (
           select count(distinct seq) from {logbook.memory_fts} where terms @@ quote_literal(value)::tsquery
         ) as doc from ${jsonTexts('postgres')} wanted`,
        [JSON.stringify(terms)],
      );
      return new Map(rows.map(({ term, doc }) => [term, doc]));
    },
    async matching(terms, limit) {
      // `offset 0` has the planner find all matches by the term: for a few it would walk over the whole table. Of a JSON
      // list it expects a hundred terms, and compiles the statement first: ten milliseconds.
      const { rows } = await database.statement<{ seqs: string | null }>(
        `select (
           select json_agg(seq order by seq) from (
             select distinct seq from (
               select seq from {logbook.memory_fts}
               where terms @@ quote_literal(wanted.term)::tsquery and seq > wanted.after offset 0
             ) matching order by seq limit ?) found
         ) as seqs
         from unnest(string_to_array(?, ' '), string_to_array(?, ' ')::bigint[]) with ordinality
           wanted(term, after, place)
         order by place`,
        [limit, terms.map(({ term }) => term).join(' '), terms.map(({ after }) => after).join(' ')],
      );
      return rows.map(({ seqs }) => (seqs === null ? [] : database.codec.parseJson<number[]>(seqs)));
    },
    // By itself the planner sees how common the terms are: those of every other memory are found from the newest on.
    async newest(query, before, limit) {
      const { rows } = await database.statement<{ seq: number }>(
        `select distinct seq from {logbook.memory_fts} where terms @@ ?::tsquery and seq < ?
         order by seq desc limit ?`,
        [queryText(query), before, limit],
      );
      return rows.map(({ seq }) => seq);
    },
    // The server's own vacuum does.
    tidy: async () => false,
  };
}
