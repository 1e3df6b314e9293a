import type { SearchEngine } from '../engine/search-engine.js';
import { againTerm } from '../index/index-text.js';
import { Kept } from './kept.js';
import type { CountTerms } from './term-counts.js';
import { LONGEST_LIST, type LookUpTerms, type Matches, NO_MATCHES, type TermMatches } from './term-matches.js';

/** The memories with a term. */
interface List {
  /** Absent where they are too many. */
  readonly seqs: Matches | undefined;
  /** No memory up to this number is missing. */
  readonly upTo: number;
}

export interface KeptLists {
  readonly lookUp: LookUpTerms;
  /** Memories were changed or taken out, perhaps by another process. */
  forget(): void;
}

/** Numbers that are kept at the most: 16 MiB. */
const MOST_NUMBERS = 4 * 1024 * 1024;

/** Of so few memories each is taken to have the term more than once: to read them costs less than to look it up. */
const FEW = 30;

/** What a list takes beside its numbers, in numbers. */
const BESIDE = 50;

const UNREAD: List = { seqs: NO_MATCHES, upTo: 0 };

/** A list with what was found since. Another search may have read some of it meanwhile. */
function extended(list: List, found: readonly number[], last: number): List {
  if (list.seqs === undefined) return list;
  const fresh = found.filter((seq) => seq > list.upTo);
  if (list.seqs.length + fresh.length > LONGEST_LIST) return { seqs: undefined, upTo: last };
  const seqs = new Uint32Array(list.seqs.length + fresh.length);
  seqs.set(list.seqs);
  seqs.set(fresh, list.seqs.length);
  return { seqs, upTo: Math.max(list.upTo, last, fresh.at(-1) ?? 0) };
}

/**
 * Keeps the memories that terms have, and asks the engine only for those that came since. That needs numbers that
 * come to light in their order, as on SQLite, which has one writer at a time.
 */
export function keptLists(engine: SearchEngine, count: CountTerms, mostNumbers = MOST_NUMBERS): KeptLists {
  const kept = new Kept<string, List>(mostNumbers, ({ seqs }) => (seqs?.length ?? 0) + BESIDE);
  let generation = 0;

  const bringUpToDate = async (names: readonly string[], last: number): Promise<ReadonlyMap<string, List>> => {
    for (;;) {
      const lists = new Map<string, List>();
      const stale = [];
      for (const name of names) {
        const list = kept.get(name);
        if (list !== undefined && (list.seqs === undefined || list.upTo >= last)) lists.set(name, list);
        else stale.push({ term: name, after: list?.upTo ?? 0 });
      }
      if (stale.length === 0) return lists;
      const asked = generation;
      const found = await engine.matching(stale, LONGEST_LIST + 1);
      if (asked !== generation) continue;
      for (const [index, { term, after }] of stale.entries()) {
        const before = kept.get(term);
        // Forgotten to make room since it was asked what is above its end: it is asked for as a whole.
        if (before === undefined && after > 0) continue;
        const list = extended(before ?? UNREAD, found[index] ?? [], last);
        kept.keep(term, list);
        lists.set(term, list);
      }
      if (lists.size === names.length) return lists;
    }
  };

  return {
    async lookUp(terms, { documents, last }) {
      const lists = await bringUpToDate(terms, last);
      const long = terms.filter((term) => lists.get(term)?.seqs === undefined);
      const counts = long.length === 0 ? undefined : await count(long, documents);
      const several = terms.filter((term) => (lists.get(term)?.seqs?.length ?? 0) > FEW);
      const again = await bringUpToDate(several.map(againTerm), last);
      return new Map(
        terms.map((term): [string, TermMatches] => {
          const all = lists.get(term)?.seqs;
          if (all === undefined) return [term, { df: counts?.get(term) ?? 0 }];
          return [term, { df: all.length, all, again: again.get(againTerm(term))?.seqs ?? all }];
        }),
      );
    },
    forget() {
      generation += 1;
      kept.clear();
    },
  };
}
