import { type Database, insertRows, jsonTexts, type TransactionOption } from 'mortise/sdk';
import type { EngineQuery, SearchEngine } from './search-engine.js';

const rowsTarget = { table: 'logbook.memory_fts', columns: ['rowid', 'space', 'terms'] };

/** Terms hold letters, digits and `_` only: quoting them is all the escaping there is. */
function anyOf(terms: readonly string[]): string {
  return `(${terms.map((term) => `"${term}"`).join(' OR ')})`;
}

function matchText({ spaceTerms, all }: EngineQuery): string {
  const space = spaceTerms.length === 0 ? [] : [`space : ${anyOf(spaceTerms)}`];
  return [...space, ...all.map((terms) => `terms : ${anyOf(terms)}`)].join(' AND ');
}

/** FTS5. Only the terms count for its rank; the space filters. */
export function sqliteEngine(database: Database): SearchEngine {
  const seqs = async (text: string, bindings: readonly (string | number)[]): Promise<readonly number[]> => {
    const { rows } = await database.statement<{ seq: number }>(text, bindings);
    return rows.map(({ seq }) => seq);
  };

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
    ranked: (query, limit) =>
      seqs(
        `select rowid as seq from {logbook.memory_fts} where {logbook.memory_fts} match ?
         order by bm25({logbook.memory_fts}, 0.0, 1.0), rowid desc limit ?`,
        [matchText(query), limit],
      ),
    newest: (query, before, limit) =>
      seqs(
        `select rowid as seq from {logbook.memory_fts} where {logbook.memory_fts} match ? and rowid < ?
         order by rowid desc limit ?`,
        [matchText(query), before, limit],
      ),
  };
}
