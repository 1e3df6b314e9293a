import { type Database, insertRows, jsonTexts, type TransactionOption } from 'mortise/sdk';
import type { EngineQuery, EngineRow, SearchEngine } from './search-engine.js';

const rowsTarget = { table: 'logbook.memory_fts', columns: ['seq', 'part', 'terms'] };

/** A tsvector is limited to 1 MiB, including some bytes per term. */
const maxPartBytes = 500_000;
const bytesPerTerm = 8;

/** Terms consist of letters, digits and `_`: quotes are the only escaping needed. */
function quoted(terms: readonly string[], separator: string): string {
  return terms.map((term) => `'${term}'`).join(separator);
}

/** The rows of one memory, each with the term of the space. */
function rowsOf({ seq, spaceTerm, terms }: EngineRow): [number, number, string][] {
  const parts: string[][] = [[spaceTerm]];
  let bytes = 0;
  for (const term of terms) {
    const size = Buffer.byteLength(term) + bytesPerTerm;
    if (bytes + size > maxPartBytes) {
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

/** Full-text search of PostgreSQL, without its parser: the terms are analysed already. */
export function postgresEngine(database: Database): SearchEngine {
  const remove = async (seq: number, options: TransactionOption): Promise<void> => {
    await database.statement('delete from {logbook.memory_fts} where seq = ?', [seq], options);
  };

  return {
    async add(rows, options) {
      await insertRows(database, rowsTarget, rows.flatMap(rowsOf), options);
    },
    async replace(row, options) {
      await remove(row.seq, options);
      await insertRows(database, rowsTarget, rowsOf(row), options);
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
      // `offset 0` makes the planner find all matches by the term; for a small limit it would scan the table instead. For
      // a JSON list it expects a hundred terms and compiles the statement with JIT first: ten milliseconds.
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
    // Without `offset 0` the planner considers how common the terms are: very common ones are found from the newest on.
    async newest(query, before, limit) {
      const { rows } = await database.statement<{ seq: number }>(
        `select distinct seq from {logbook.memory_fts} where terms @@ ?::tsquery and seq < ?
         order by seq desc limit ?`,
        [queryText(query), before, limit],
      );
      return rows.map(({ seq }) => seq);
    },
    // PostgreSQL's vacuum does this.
    merge: async () => false,
  };
}
