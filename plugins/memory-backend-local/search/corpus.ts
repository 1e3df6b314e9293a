import type { Database } from 'mortise/sdk';

/** Statistics of all memories, available without reading them. */
export interface Corpus {
  /** The highest `seq`. */
  readonly last: number;
  readonly documents: number;
  /** In terms; 1 for an empty index. */
  readonly averageLength: number;
  /** Length of each memory in terms, by `seq`; 0 when unknown. */
  readonly lengths: Uint32Array;
  /** Number of the space of each memory, by `seq`; 0 when unknown. */
  readonly spaceNumbers: Uint32Array;
  /** The numbers of spaces, and how many memories they contain. */
  spaces(spaceTerms: readonly string[]): { readonly numbers: ReadonlySet<number>; readonly documents: number };
}

/** Returns the current corpus, with every memory stored before the call. */
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

/** Memories read at once. */
const pageSize = 5_000;

/**
 * On PostgreSQL a row can commit after one with a higher `seq` and be missed by an incremental count, so everything is
 * counted again at this interval. SQLite has one writer at a time.
 */
const recountMs = { sqlite: Number.POSITIVE_INFINITY, postgres: 300_000 };

function grownTo(numbers: Uint32Array<ArrayBuffer>, last: number): Uint32Array<ArrayBuffer> {
  if (last < numbers.length) return numbers;
  const larger = new Uint32Array(2 * (last + 1));
  larger.set(numbers);
  return larger;
}

/**
 * Each call reads the memories added since the last one.
 *
 * @param changed called when another process has changed the database (SQLite only)
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
  let recountAt = now() + recountMs[database.dialect];

  const numberOf = (spaceTerm: string): number => {
    let number = numbersOfSpaces.get(spaceTerm);
    if (number === undefined) {
      number = numbersOfSpaces.size + 1;
      numbersOfSpaces.set(spaceTerm, number);
    }
    return number;
  };

  const addFacts = (facts: string): void => {
    for (const fact of facts.split(',')) {
      const [seq = '', length = '', spaceTerm = ''] = fact.split(' ');
      const space = numberOf(spaceTerm);
      lengths[Number(seq)] = Number(length);
      spaces[Number(seq)] = space;
      inSpace = grownTo(inSpace, space);
      inSpace[space] = (inSpace[space] ?? 0) + 1;
    }
  };

  const recount = async (): Promise<void> => {
    recountAt = now() + recountMs[database.dialect];
    const { rows } = await database.statement<{ documents: number; terms: number | null }>(
      'select count(*) as documents, sum(length) as terms from {logbook.memory_documents} where seq <= ?',
      [last],
    );
    documents = rows[0]?.documents ?? 0;
    terms = rows[0]?.terms ?? 0;
  };

  const readLast = async (): Promise<number> => {
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
  const readMore = async (): Promise<boolean> => {
    const from = last;
    const { rows } = await database.statement<Grown>(
      `select max(seq) as last, count(*) as documents, sum(length) as terms,
         string_agg(seq || ' ' || length || ' ' || space, ',') as facts
       from (select seq, length, space from {logbook.memory_documents} where seq > ? order by seq limit ${pageSize}) grown`,
      [from],
    );
    const grown = rows[0];
    if (grown === undefined || grown.last === null || grown.facts === null) return false;
    // A concurrent search has read them already.
    if (last !== from) return true;
    last = grown.last;
    documents += grown.documents;
    terms += grown.terms ?? 0;
    lengths = grownTo(lengths, last);
    spaces = grownTo(spaces, last);
    addFacts(grown.facts);
    return true;
  };

  return async () => {
    const highest = await readLast();
    while (last < highest && (await readMore()));
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
