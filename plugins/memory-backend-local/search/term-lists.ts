import type { SearchEngine } from '../engine/search-engine.js';
import { againTerm } from '../store/index-text.js';
import { GenerationCache } from './cache.js';

/** `seq` numbers of memories, ascending. */
export type Matches = Uint32Array;

/** The memories with a term. */
export interface TermMatches {
  /** Number of memories with the term. */
  readonly df: number;
  /** All of them; absent when they are too many to list. */
  readonly all?: Matches;
  /** The memories that contain the term more than once. */
  readonly again?: Matches;
}

/** The size of the index. */
interface Extent {
  /** The highest `seq`. */
  readonly last: number;
  readonly documents: number;
}

/** Looks up engine terms (see `engineTerm`) in all memories up to the last one. */
export type LookUpTerms = (terms: readonly string[], extent: Extent) => Promise<ReadonlyMap<string, TermMatches>>;

/** A term with more matches is not listed: 1,000 cost 0.25 ms (SQLite 3.54, 100,000 memories). */
export const maxListLength = 4_000;

export const noMatches: Matches = new Uint32Array();

/** Counts the memories with each term. @param documents size of the index */
export type CountTerms = (terms: readonly string[], documents: number) => Promise<ReadonlyMap<string, number>>;

/** Counting a common term takes milliseconds: a count is cached until the index has grown by this share. */
const maxGrowth = 0.01;
const maxCounts = 20_000;

export function createTermCounts(engine: SearchEngine): CountTerms {
  const counts = new Map<string, { readonly df: number; readonly documents: number }>();
  return async (wanted, total) => {
    if (counts.size > maxCounts) counts.clear();
    const stale = wanted.filter((term) => {
      const cached = counts.get(term);
      return cached === undefined || total - cached.documents > total * maxGrowth;
    });
    if (stale.length > 0) {
      const found = await engine.frequencies(stale);
      // A count of 0 is not cached: the next search must find the first memory with the term.
      for (const term of stale) {
        const df = found.get(term) ?? 0;
        if (df === 0) counts.delete(term);
        else counts.set(term, { df, documents: total });
      }
    }
    return new Map(wanted.map((term) => [term, counts.get(term)?.df ?? 0]));
  };
}

/**
 * Reads lists at each search, for the rarest terms with at most `maxListLength` matches in total. For PostgreSQL, where a
 * memory can become visible after one with a higher `seq`, so that a cached list cannot be extended.
 */
export function freshLists(engine: SearchEngine, count: CountTerms): LookUpTerms {
  return async (terms, { documents }) => {
    const counts = await count(terms, documents);
    let matches = 0;
    const listed = [...counts]
      .sort(([, a], [, b]) => a - b)
      .filter(([, df]) => {
        matches += df;
        return df > 0 && matches <= maxListLength;
      })
      .map(([term]) => term);
    const nowhere = { df: 0, all: noMatches, again: noMatches };
    const found = new Map<string, TermMatches>([...counts].map(([term, df]) => [term, df === 0 ? nowhere : { df }]));
    if (listed.length === 0) return found;
    const queried = [...listed, ...listed.map(againTerm)].map((term) => ({ term, after: 0 }));
    const lists = await engine.matching(queried, documents);
    for (const [index, term] of listed.entries()) {
      const all = Uint32Array.from(lists[index] ?? []);
      found.set(term, { df: all.length, all, again: Uint32Array.from(lists[listed.length + index] ?? []) });
    }
    return found;
  };
}

/** A cached list of the memories with a term. */
interface List {
  /** Undefined when they are too many. */
  readonly seqs: Matches | undefined;
  /** The list is complete up to this `seq`. */
  readonly upTo: number;
}

interface CachedLists {
  readonly lookUp: LookUpTerms;
  /** Drops all lists, after memories were changed or removed. */
  clear(): void;
}

/** Cached numbers, 4 bytes each: 16 MiB. */
const maxNumbers = 4 * 1024 * 1024;

/** In a list this short, every memory counts as having the term more than once: reading them is cheaper than a look-up. */
const shortList = 30;

/** Overhead of a list, in numbers. */
const listOverhead = 50;

const unread: List = { seqs: noMatches, upTo: 0 };

/** A list with the newly found memories, of which a concurrent search may have added some already. */
function extended(list: List, found: readonly number[], last: number): List {
  if (list.seqs === undefined) return list;
  const fresh = found.filter((seq) => seq > list.upTo);
  if (list.seqs.length + fresh.length > maxListLength) return { seqs: undefined, upTo: last };
  const seqs = new Uint32Array(list.seqs.length + fresh.length);
  seqs.set(list.seqs);
  seqs.set(fresh, list.seqs.length);
  return { seqs, upTo: Math.max(list.upTo, last, fresh.at(-1) ?? 0) };
}

/**
 * Caches the lists of terms, and reads only the memories added since. For SQLite, where memories become visible in the
 * order of their `seq`, because there is one writer at a time.
 */
export function cachedLists(engine: SearchEngine, count: CountTerms, limit = maxNumbers): CachedLists {
  const cache = new GenerationCache<string, List>(limit, ({ seqs }) => (seqs?.length ?? 0) + listOverhead);
  let generation = 0;

  const upToDate = async (names: readonly string[], last: number): Promise<ReadonlyMap<string, List>> => {
    for (;;) {
      const lists = new Map<string, List>();
      const stale = [];
      for (const name of names) {
        const list = cache.get(name);
        if (list !== undefined && (list.seqs === undefined || list.upTo >= last)) lists.set(name, list);
        else stale.push({ term: name, after: list?.upTo ?? 0 });
      }
      if (stale.length === 0) return lists;
      const started = generation;
      const found = await engine.matching(stale, maxListLength + 1);
      if (started !== generation) continue;
      for (const [index, { term, after }] of stale.entries()) {
        const before = cache.get(term);
        // Dropped from the cache during the read, which returned only its new end: it is read again as a whole.
        if (before === undefined && after > 0) continue;
        const list = extended(before ?? unread, found[index] ?? [], last);
        cache.set(term, list);
        lists.set(term, list);
      }
      if (lists.size === names.length) return lists;
    }
  };

  return {
    async lookUp(terms, { documents, last }) {
      const lists = await upToDate(terms, last);
      const long = terms.filter((term) => lists.get(term)?.seqs === undefined);
      const counts = long.length === 0 ? undefined : await count(long, documents);
      const several = terms.filter((term) => (lists.get(term)?.seqs?.length ?? 0) > shortList);
      const again = await upToDate(several.map(againTerm), last);
      return new Map(
        terms.map((term): [string, TermMatches] => {
          const all = lists.get(term)?.seqs;
          if (all === undefined) return [term, { df: counts?.get(term) ?? 0 }];
          return [term, { df: all.length, all, again: again.get(againTerm(term))?.seqs ?? all }];
        }),
      );
    },
    clear() {
      generation += 1;
      cache.clear();
    },
  };
}
