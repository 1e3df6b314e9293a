import type { Database } from 'mortise/sdk';

/** What is known of all memories without reading them one by one. */
export interface Corpus {
  /** The greatest number of a memory. */
  readonly last: number;
  readonly documents: number;
  /** In terms; 1 for an empty index. */
  readonly averageLength: number;
  /** Length of each memory in terms, by its number; 0 where it is not known. */
  readonly lengths: Uint32Array;
  /** The number that stands for the space of each memory; 0 where it is not known. */
  readonly spaceNumbers: Uint32Array;
  /** The numbers that stand for spaces, and how many memories they have. */
  spaces(spaceTerms: readonly string[]): { readonly numbers: ReadonlySet<number>; readonly documents: number };
}

/** The corpus as it is now: every memory that was stored before the call is in it. */
export type ReadCorpus = () => Promise<Corpus>;

interface Extent {
  readonly last: number | null;
  readonly version: number;
}

interface Grown {
  readonly last: number | null;
  readonly documents: number;
  readonly terms: number | null;
  readonly facts: string | null;
}

/** Memories that are read at once. */
const PAGE = 5_000;

/**
 * On PostgreSQL a row may commit after one with a higher number, and be missed by counting on from there: everything is
 * counted anew this often. SQLite has one writer at a time.
 */
const RECOUNT_MS = { sqlite: Number.POSITIVE_INFINITY, postgres: 300_000 };

function enlarged(numbers: Uint32Array<ArrayBuffer>, last: number): Uint32Array<ArrayBuffer> {
  if (last < numbers.length) return numbers;
  const larger = new Uint32Array(2 * (last + 1));
  larger.set(numbers);
  return larger;
}

/**
 * Reads on from where it was at each call.
 *
 * @param changed called when another process has changed the database, where it tells
 */
export function createCorpus(database: Database, changed: () => void, now: () => number = Date.now): ReadCorpus {
  const numbersOfSpaces = new Map<string, number>();
  let inSpace = new Uint32Array(64);
  let lengths = new Uint32Array(1024);
  let spaces = new Uint32Array(1024);
  let last = 0;
  let documents = 0;
  let terms = 0;
  let version: number | undefined;
  let recountAt = now() + RECOUNT_MS[database.dialect];

  const numberOf = (spaceTerm: string): number => {
    let number = numbersOfSpaces.get(spaceTerm);
    if (number === undefined) {
      number = numbersOfSpaces.size + 1;
      numbersOfSpaces.set(spaceTerm, number);
    }
    return number;
  };

  const learn = (facts: string): void => {
    for (const fact of facts.split(',')) {
      const [seq = '', length = '', spaceTerm = ''] = fact.split(' ');
      const space = numberOf(spaceTerm);
      lengths[Number(seq)] = Number(length);
      spaces[Number(seq)] = space;
      inSpace = enlarged(inSpace, space);
      inSpace[space] = (inSpace[space] ?? 0) + 1;
    }
  };

  const recount = async (): Promise<void> => {
    recountAt = now() + RECOUNT_MS[database.dialect];
    const { rows } = await database.statement<{ documents: number; terms: number | null }>(
      'select count(*) as documents, sum(length) as terms from {logbook.memory_documents} where seq <= ?',
      [last],
    );
    documents = rows[0]?.documents ?? 0;
    terms = rows[0]?.terms ?? 0;
  };

  /** The greatest number there is. */
  const look = async (): Promise<number> => {
    const { rows } = await database.statement<Extent>(
      `select (select max(seq) from {logbook.memory_documents}) as last,
         ${database.dialect === 'sqlite' ? '(select data_version from pragma_data_version)' : '0'} as version`,
    );
    const extent = rows[0];
    if (version !== undefined && version !== extent?.version) changed();
    version = extent?.version;
    return extent?.last ?? 0;
  };

  /** @returns false when there is nothing to read. */
  const readOn = async (): Promise<boolean> => {
    const from = last;
    const { rows } = await database.statement<Grown>(
      `select max(seq) as last, count(*) as documents, sum(length) as terms,
         string_agg(seq || ' ' || length || ' ' || space, ',') as facts
       from (select seq, length, space from {logbook.memory_documents} where seq > ? order by seq limit ${PAGE}) grown`,
      [from],
    );
    const grown = rows[0];
    if (grown === undefined || grown.last === null || grown.facts === null) return false;
    // Another search has read on meanwhile.
    if (last !== from) return true;
    last = grown.last;
    documents += grown.documents;
    terms += grown.terms ?? 0;
    lengths = enlarged(lengths, last);
    spaces = enlarged(spaces, last);
    learn(grown.facts);
    return true;
  };

  return async () => {
    const greatest = await look();
    while (last < greatest && (await readOn()));
    if (now() >= recountAt) await recount();
    return {
      last,
      documents,
      averageLength: documents === 0 ? 1 : terms / documents,
      lengths,
      spaceNumbers: spaces,
      spaces: (spaceTerms) => {
        const numbers = new Set(spaceTerms.map((term) => numbersOfSpaces.get(term) ?? -1));
        let count = 0;
        for (const number of numbers) count += inSpace[number] ?? 0;
        return { numbers, documents: count };
      },
    };
  };
}
