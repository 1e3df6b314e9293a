import type Database from 'better-sqlite3';
import { columnFrequencies } from '../index/token-stream.js';
import { searchTerm } from '../index/write-source.js';

/** The facts of a source that searches filter and rank by. */
export interface SourceRow {
  readonly id: number;
  readonly path: string;
  readonly docType: string;
  readonly tags: readonly string[];
  readonly title: string | null;
  readonly bytes: number;
  /** Epoch milliseconds. */
  readonly mtime: number;
  readonly mtimeNs: string;
  /** From the front matter or the last commit. */
  readonly documentTime: number | null;
  readonly commitTime: number | null;
  readonly isStale: boolean;
}

/** The chunks with a term. */
interface Postings {
  /** Positions in the snapshot, unordered. */
  readonly slots: Uint32Array;
  /** The frequency column of each. */
  readonly columns: Uint8Array;
}

interface TermRow {
  readonly id: number;
  readonly df: number;
}

/**
 * One state of a repo's index for searches: its chunks, and the terms that were looked up so far. It is used
 * within one read transaction at a time, and replaced when the revision of the repo changes.
 */
export interface RepoSnapshot {
  readonly id: number;
  readonly name: string;
  readonly root: string;
  readonly revision: number;
  readonly lastRefresh: number | null;
  readonly sources: readonly SourceRow[];
  readonly count: number;
  readonly averageLength: number;
  /** By slot: the row id, the index of the source, the length. */
  readonly chunkIds: Float64Array;
  readonly sourceOf: Uint32Array;
  readonly lengths: Uint32Array;
  term(term: string): TermRow | undefined;
  termFacts(id: number): { readonly term: string; readonly df: number } | undefined;
  postings(id: number, df: number): Postings;
  slotOf(chunkRow: number): number | undefined;
  /** All terms of the repo that begin with a letter outside the segmented scripts. */
  vocabulary(): readonly { readonly term: string; readonly df: number }[];
}

/** Postings of a snapshot that are kept in memory, bytes. */
const maxPostingBytes = 24 * 1024 * 1024;

interface RepoRow {
  readonly id: number;
  readonly name: string;
  readonly root: string;
  readonly revision: number;
  readonly last_refresh: number | null;
}

/** Undefined for a repo that was never refreshed. */
export function readRepoRow(database: Database, name: string): RepoRow | undefined {
  return database.prepare('select id, name, root, revision, last_refresh from kb_repos where name = ?').get([name]) as
    | RepoRow
    | undefined;
}

/** Reads the state of a repo. */
export function takeSnapshot(database: Database, repo: RepoRow): RepoSnapshot {
  const sources = readSources(database, repo.id);
  const indexOfSource = new Map(sources.map(({ id }, index) => [id, index]));
  const rows = database
    .prepare(
      `select kb_chunks.id, source, length from kb_chunks join kb_sources on kb_sources.id = source where repo = ?
       order by kb_chunks.id`,
    )
    .raw()
    .all([repo.id]) as [number, number, number][];
  const chunkIds = new Float64Array(rows.length);
  const sourceOf = new Uint32Array(rows.length);
  const lengths = new Uint32Array(rows.length);
  let total = 0;
  for (const [slot, [id, source, length]] of rows.entries()) {
    chunkIds[slot] = id;
    sourceOf[slot] = indexOfSource.get(source) ?? 0;
    lengths[slot] = length;
    total += length;
  }
  const slotOf = createSlots(chunkIds);
  const terms = new Map<string, TermRow | null>();
  const facts = new Map<number, { term: string; df: number } | null>();
  const lists = new Map<number, Postings>();
  let listBytes = 0;
  let vocabulary: { term: string; df: number }[] | undefined;
  const findTerm = database.prepare('select id, df from kb_terms where repo = ? and term = ?');
  const findFacts = database.prepare('select term, df from kb_terms where id = ?');
  const findPostings = database.prepare('select doc, col from temp.kb_vocabulary where term = ?').raw();
  return {
    id: repo.id,
    name: repo.name,
    root: repo.root,
    revision: repo.revision,
    lastRefresh: repo.last_refresh,
    sources,
    count: rows.length,
    averageLength: rows.length === 0 ? 0 : total / rows.length,
    chunkIds,
    sourceOf,
    lengths,
    slotOf,
    term: (term) => {
      const known = terms.get(term);
      if (known !== undefined) return known ?? undefined;
      const row = (findTerm.get([repo.id, term]) as TermRow | undefined) ?? null;
      terms.set(term, row);
      return row ?? undefined;
    },
    termFacts: (id) => {
      const known = facts.get(id);
      if (known !== undefined) return known ?? undefined;
      const row = (findFacts.get([id]) as { term: string; df: number } | undefined) ?? null;
      facts.set(id, row);
      return row ?? undefined;
    },
    postings: (id, df) => {
      const known = lists.get(id);
      if (known !== undefined) return known;
      const slots = new Uint32Array(df);
      const columns = new Uint8Array(df);
      let length = 0;
      for (const [chunk, column] of findPostings.iterate([searchTerm(id)]) as Iterable<[number, string]>) {
        const slot = slotOf(chunk);
        if (slot === undefined || length >= df) continue;
        slots[length] = slot;
        columns[length] = column.charCodeAt(1) - 0x31;
        length += 1;
      }
      const list = { slots: slots.subarray(0, length), columns: columns.subarray(0, length) };
      listBytes += 5 * df;
      if (listBytes > maxPostingBytes) {
        lists.clear();
        listBytes = 5 * df;
      }
      lists.set(id, list);
      return list;
    },
    vocabulary: () => {
      vocabulary ??= database
        .prepare("select term, df from kb_terms where repo = ? and term < '\u0e00' and length(term) between 3 and 40")
        .all([repo.id]) as { term: string; df: number }[];
      return vocabulary;
    },
  };
}

/** A frequency that represents the postings of a column. */
export function columnFrequency(column: number): number {
  return columnFrequencies[column] ?? 1;
}

interface StoredSource {
  readonly id: number;
  readonly path: string;
  readonly doc_type: string;
  readonly tags: string;
  readonly title: string | null;
  readonly bytes: number;
  readonly mtime: number;
  readonly mtime_ns: string;
  readonly document_time: number | null;
  readonly commit_time: number | null;
  readonly status: string;
}

const noTags: readonly string[] = [];

function readSources(database: Database, repo: number): readonly SourceRow[] {
  const rows = database
    .prepare(
      `select id, path, doc_type, tags, title, bytes, mtime, mtime_ns, document_time, commit_time, status
       from kb_sources where repo = ? and status in ('indexed', 'stale')`,
    )
    .all([repo]) as StoredSource[];
  return rows.map((row) => ({
    id: row.id,
    path: row.path,
    docType: row.doc_type,
    tags: row.tags === '[]' ? noTags : (JSON.parse(row.tags) as string[]),
    title: row.title,
    bytes: row.bytes,
    mtime: row.mtime,
    mtimeNs: row.mtime_ns,
    documentTime: row.document_time,
    commitTime: row.commit_time,
    isStale: row.status === 'stale',
  }));
}

/** Finds the slot of a row: directly while the ids are dense, else by halving. */
function createSlots(ids: Float64Array): (id: number) => number | undefined {
  const first = ids[0] ?? 0;
  const span = (ids.at(-1) ?? 0) - first + 1;
  if (ids.length > 0 && span <= 4 * ids.length + 1_000) {
    const direct = new Int32Array(span).fill(-1);
    for (const [slot, id] of ids.entries()) direct[id - first] = slot;
    return (id) => {
      const slot = direct[id - first] ?? -1;
      return slot < 0 ? undefined : slot;
    };
  }
  return (id) => {
    let low = 0;
    let high = ids.length - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const value = ids[middle] ?? 0;
      if (value === id) return middle;
      if (value < id) low = middle + 1;
      else high = middle - 1;
    }
    return undefined;
  };
}
