import { type Database, jsonTexts } from 'mortise/sdk';
import { contextOf, reach, scaleParts } from './context-score.js';
import type { ReadDocuments } from './documents.js';
import type { WeighedTerm } from './query-terms.js';
import type { ScoredQuery, ScoreParts } from './score.js';
import { bestFirst, type Scored, scoreDocuments } from './score-documents.js';

/** Maximum number of candidates whose neighbours become candidates too. */
const maxCentres = 100;

const noMatch: ScoreParts = { bm25: 0, coverage: 0, phrase: 0, matched_terms: [] };

/** Dependencies of the scores of neighbours. */
interface ContextDeps {
  readonly database: Database;
  readonly documents: ReadDocuments;
}

/** A query with the lists of its terms. */
interface ContextQuery extends ScoredQuery {
  readonly terms: readonly WeighedTerm[];
}

/** Candidates with their final scores, best first. */
interface InContext {
  readonly scored: readonly Scored[];
  /** The factor in the scores of all memories with a conversation, also of those that are scored later. */
  readonly scale: number;
}

/** A place in a conversation. */
interface Place {
  readonly seq: number;
  readonly memoryId: string;
}

/** A candidate with the places around it, in the order of the conversation. */
interface Line {
  readonly conversation: string;
  readonly places: readonly Place[];
  /** The index of the candidate. */
  readonly centre: number;
}

interface LineRow {
  readonly seq: number;
  readonly memory_id: string;
  readonly conversation: string;
  readonly before: string | null;
  readonly after: string | null;
}

function places(list: string | null): readonly Place[] {
  if (list === null) return [];
  const read = list.split(',').map((place) => {
    const [seq = '', memoryId = ''] = place.split(' ');
    return { seq: Number(seq), memoryId };
  });
  return read.sort((a, b) => (a.memoryId < b.memoryId ? -1 : 1));
}

/**
 * The conversation around each memory, in order: its neighbours, and theirs. Each side is a look-up in the index, so that
 * the cost does not depend on the length of the conversation.
 */
async function readLines(database: Database, seqs: readonly number[]): Promise<readonly Line[]> {
  const side = (comparison: string, order: string) => `(
    select string_agg(seq || ' ' || memory_id, ',') from (
      select seq, memory_id from {logbook.memory_documents}
      where conversation = centre.conversation and memory_id ${comparison} centre.memory_id
      order by memory_id ${order} limit ${2 * reach}) near)`;
  const { rows } = await database.statement<LineRow>(
    `select seq, memory_id, conversation, ${side('<', 'desc')} as before, ${side('>', 'asc')} as after
     from {logbook.memory_documents} centre
     where seq in (select cast(value as bigint) from ${jsonTexts(database.dialect)} wanted)`,
    [JSON.stringify(seqs)],
  );
  return rows.map(({ seq, memory_id: memoryId, conversation, before, after }) => {
    const earlier = places(before);
    return { conversation, places: [...earlier, { seq, memoryId }, ...places(after)], centre: earlier.length };
  });
}

function includes(sorted: Uint32Array, seq: number): boolean {
  let low = 0;
  let high = sorted.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = sorted[middle] ?? 0;
    if (found === seq) return true;
    if (found < seq) low = middle + 1;
    else high = middle - 1;
  }
  return false;
}

/** Adds the context of conversations to the scores of candidates, and their neighbours to the candidates. */
export async function addContext(
  { database, documents }: ContextDeps,
  scored: readonly Scored[],
  spaceTerms: readonly string[],
  query: ContextQuery,
): Promise<InContext> {
  const centres = scored.filter(({ conversation }) => conversation !== null).slice(0, maxCentres);
  if (centres.length === 0) return { scored, scale: 1 };
  const lines = await readLines(
    database,
    centres.map(({ seq }) => seq),
  );
  const own = new Map(scored.map((one) => [one.seq, one]));
  // A memory in none of the lists has no matching term: it need not be read.
  const mayMatch = (seq: number) => query.terms.some(({ all }) => all === undefined || includes(all, seq));
  const near = new Set(lines.flatMap(({ places }) => places.map(({ seq }) => seq)));
  const unread = [...near].filter((seq) => !own.has(seq) && mayMatch(seq));
  for (const one of scoreDocuments(await documents(unread), spaceTerms, query)) own.set(one.seq, one);

  const inContext = new Map(scored.map((one) => [one.seq, one]));
  for (const one of scoreLines(lines, own)) inContext.set(one.seq, one);
  const all = [...inContext.values()];
  const scale =
    1 / all.reduce((best, { conversation, score }) => (conversation === null ? best : Math.max(best, score)), 1);
  return { scored: all.map((one) => scaled(one, scale)).sort(bestFirst), scale };
}

/** The final scores of the candidates and of their neighbours. */
function scoreLines(lines: readonly Line[], own: ReadonlyMap<number, Scored>): readonly Scored[] {
  const done = new Map<number, Scored>();
  for (const { conversation, places, centre } of lines) {
    const members = places.map(({ seq, memoryId }) => ({ id: memoryId, own: own.get(seq)?.score ?? 0 }));
    for (let at = Math.max(0, centre - reach); at <= centre + reach; at += 1) {
      const place = places[at];
      if (place === undefined || done.has(place.seq)) continue;
      const { score = 0, parts = noMatch } = own.get(place.seq) ?? {};
      const context = contextOf(members, at);
      done.set(place.seq, { ...place, conversation, parts: { ...parts, ...context }, score: score + context.context });
    }
  }
  return [...done.values()];
}

/** The candidate with its score scaled; a memory without a conversation is not changed. */
export function scaled(one: Scored, scale: number): Scored {
  if (one.conversation === null || scale === 1) return one;
  return { ...one, parts: scaleParts(one.parts, scale), score: one.score * scale };
}
