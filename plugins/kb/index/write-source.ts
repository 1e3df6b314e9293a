import type Database from 'better-sqlite3';
import type { PreparedChunk, PreparedDocument } from './prepare-document.js';
import { columnFrequencies, decodeStream, encodeStream, frequencyColumn, termFrequencies } from './token-stream.js';

/** The facts of a file that are stored with its chunks. */
export interface SourceFacts {
  readonly sourceId: string;
  readonly path: string;
  readonly docType: string;
  readonly bytes: number;
  /** Epoch milliseconds. */
  readonly mtime: number;
  readonly mtimeNs: string;
  readonly ctimeNs: string;
  readonly inode: string;
  /** When the file was read, epoch milliseconds. */
  readonly readAt: number;
  readonly fileHash: string | null;
  readonly commitTime: number | null;
}

/** Why a file is not indexed. */
export interface SourceProblem {
  readonly status: 'skipped' | 'error';
  readonly reason: string;
  readonly detail: string | null;
}

/** The only statements that change sources, chunks, terms and the search table. Each runs within the caller's transaction. */
export interface SourceWriter {
  /**
   * Writes a source with its chunks.
   * @param known the id of the row that it replaces
   * @returns the number of chunks that were not there before, and of those gone
   */
  write(
    facts: SourceFacts,
    document: PreparedDocument,
    known: number | undefined,
  ): { readonly added: number; readonly removed: number };
  /** Records why a file is not indexed; its chunks go. */
  fail(facts: SourceFacts, problem: SourceProblem, known: number | undefined): { readonly removed: number };
  /** Updates the times of a file whose content is unchanged. */
  touch(id: number, facts: SourceFacts): void;
  markStale(id: number, reason: string): void;
  remove(id: number): { readonly removed: number };
  /** Writes the document frequencies of what was changed and deletes unused terms; called before a commit. */
  flush(): void;
  /** Call after a rollback: terms that were added are not there. */
  reset(): void;
}

const columns = columnFrequencies.map((_, index) => `f${index + 1}`).join(', ');
const placeholders = columnFrequencies.map(() => '?').join(', ');

/** The form of a term in the search table. */
export function searchTerm(id: number): string {
  return id.toString(36);
}

export function createSourceWriter(database: Database, repo: number): SourceWriter {
  const statements = prepareStatements(database);
  const ids = new Map<string, number>();
  /** Whether `ids` has every stored term, so that none has to be looked up. */
  let isComplete = statements.anyTerm.get([repo]) === undefined;
  /** Terms that are not stored yet, by the ids that they get. */
  const added = new Map<number, string>();
  let lastId: number | undefined;
  /** Changes of document frequencies since the last flush. */
  const changes = new Map<number, number>();

  const storedId = (term: string): number | undefined =>
    isComplete ? undefined : (statements.findTerm.get([repo, term]) as number | undefined);
  /** New ids follow the last one of all repos: nothing else writes during the transaction. */
  const newId = (term: string): number => {
    lastId ??= Number(statements.lastTermId.get([]) ?? 0);
    lastId += 1;
    added.set(lastId, term);
    return lastId;
  };
  const termId = (term: string): number => {
    let id = ids.get(term);
    if (id === undefined) {
      // A term may be cut within a pair of surrogates; the database replaces what is left of the pair.
      const stored = term.toWellFormed();
      id = stored === term ? (storedId(term) ?? newId(term)) : termId(stored);
      ids.set(term, id);
    }
    return id;
  };

  const columnsOf = (frequencies: ReadonlyMap<number, number>): string[] => {
    const texts: string[] = columnFrequencies.map(() => '');
    for (const [id, frequency] of frequencies) texts[frequencyColumn(frequency)] += ` ${searchTerm(id)}`;
    return texts;
  };

  const count = (frequencies: ReadonlyMap<number, number>, change: number): void => {
    for (const id of frequencies.keys()) changes.set(id, (changes.get(id) ?? 0) + change);
  };

  const removeChunks = (source: number, kept: ReadonlySet<string>): number => {
    let removed = 0;
    for (const chunk of statements.chunksOf.all([source]) as StoredChunk[]) {
      const frequencies = termFrequencies(decodeStream(chunk.stream));
      statements.unindex.run([chunk.id, ...columnsOf(frequencies)]);
      count(frequencies, -1);
      statements.deleteChunk.run([chunk.id]);
      if (kept.has(chunk.chunk_id)) continue;
      removed += 1;
      statements.deleteVectors.run([chunk.content_hash, chunk.content_hash]);
    }
    return removed;
  };

  const addChunk = (source: number, chunk: PreparedChunk, global: Uint32Array): void => {
    const stream = chunk.stream.map((value) =>
      value < 2 ? value : 2 * (global[(value >>> 1) - 1] ?? 0) + (value & 1),
    );
    const { lastInsertRowid } = statements.addChunk.run([
      source,
      chunk.chunkId,
      chunk.heading,
      JSON.stringify(chunk.headingPath),
      chunk.startLine,
      chunk.endLine,
      chunk.content,
      Buffer.from(chunk.contentHash, 'hex'),
      chunk.tokens,
      chunk.length,
      encodeStream(stream),
    ]);
    const frequencies = termFrequencies(stream);
    statements.index.run([lastInsertRowid, ...columnsOf(frequencies)]);
    count(frequencies, 1);
  };

  /** Without `on conflict`, whose statement journal would cost ten times as much as the row. */
  const store = (facts: SourceFacts, values: readonly unknown[], known: number | undefined): number => {
    const row = [
      repo,
      facts.sourceId,
      facts.path,
      facts.bytes,
      facts.mtime,
      facts.mtimeNs,
      facts.ctimeNs,
      facts.inode,
      facts.readAt,
      facts.commitTime,
      ...values,
    ];
    if (known === undefined) return Number(statements.addSource.run(row).lastInsertRowid);
    statements.updateSource.run([...row, known]);
    return known;
  };

  return {
    write: (facts, document, known) => {
      const { frontMatter, title, chunks, terms } = document;
      const values = [
        facts.docType,
        JSON.stringify(frontMatter.tags),
        title,
        facts.fileHash,
        frontMatter.updated ?? null,
        'indexed',
        null,
        null,
        frontMatter.warning ?? null,
        Date.now(),
      ];
      const id = store(facts, values, known);
      const kept = new Set(chunks.map(({ chunkId }) => chunkId));
      const before = new Set(known === undefined ? [] : (statements.chunkIds.all([id]) as string[]));
      const removed = before.size > 0 ? removeChunks(id, kept) : 0;
      const global = Uint32Array.from(terms, termId);
      let added = 0;
      for (const chunk of chunks) {
        addChunk(id, chunk, global);
        if (!before.has(chunk.chunkId)) added += 1;
      }
      return { added, removed };
    },
    fail: (facts, { status, reason, detail }, known) => {
      const values = [facts.docType, '[]', null, facts.fileHash, null, status, reason, detail, null, null];
      const id = store(facts, values, known);
      return { removed: known === undefined ? 0 : removeChunks(id, new Set()) };
    },
    touch: (id, { bytes, mtime, mtimeNs, ctimeNs, inode, readAt, commitTime }) => {
      statements.touch.run([bytes, mtime, mtimeNs, ctimeNs, inode, readAt, commitTime, id]);
    },
    markStale: (id, reason) => {
      statements.setProblem.run(['stale', reason, null, id]);
    },
    remove: (id) => {
      const removed = removeChunks(id, new Set());
      statements.deleteSource.run([id]);
      return { removed };
    },
    flush: () => {
      if (added.size > 0) {
        const rows = [...added].map(([id, term]) => [id, term, changes.get(id) ?? 0]);
        statements.addTerms.run([repo, JSON.stringify(rows)]);
      }
      const changed = [...changes].filter(([id, change]) => change !== 0 && !added.has(id));
      changes.clear();
      added.clear();
      lastId = undefined;
      if (changed.length === 0) return;
      statements.countTerms.run([JSON.stringify(changed)]);
      const fewer = changed.flatMap(([id, change]) => (change < 0 ? [id] : []));
      if (fewer.length === 0) return;
      for (const term of statements.deleteUnused.all([JSON.stringify(fewer)])) ids.delete(String(term));
    },
    reset: () => {
      ids.clear();
      isComplete = false;
      added.clear();
      lastId = undefined;
      changes.clear();
    },
  };
}

interface StoredChunk {
  readonly id: number;
  readonly chunk_id: string;
  readonly content_hash: Uint8Array;
  readonly stream: Uint8Array;
}

function prepareStatements(database: Database) {
  const source = `repo, source_id, path, bytes, mtime, mtime_ns, ctime_ns, inode, read_at, commit_time, doc_type, tags,
    title, file_hash, document_time, status, reason, detail, warning, indexed_at`;
  const names = source.split(',').map((name) => name.trim());
  return {
    findTerm: database.prepare('select id from kb_terms where repo = ? and term = ?').pluck(),
    anyTerm: database.prepare('select 1 from kb_terms where repo = ? limit 1').pluck(),
    lastTermId: database.prepare("select seq from sqlite_sequence where name = 'kb_terms'").pluck(),
    // In the order of the index: new terms of a batch then share its pages.
    addTerms: database.prepare(
      `insert into kb_terms (id, repo, term, df)
       select value ->> 0, ?, value ->> 1, value ->> 2 from json_each(?) order by value ->> 1`,
    ),
    countTerms: database.prepare(
      `update kb_terms set df = df + change
       from (select value ->> 0 as changed, value ->> 1 as change from json_each(?)) where id = changed`,
    ),
    deleteUnused: database
      .prepare('delete from kb_terms where id in (select value from json_each(?)) and df <= 0 returning term')
      .pluck(),
    chunksOf: database.prepare('select id, chunk_id, content_hash, stream from kb_chunks where source = ?'),
    chunkIds: database.prepare('select chunk_id from kb_chunks where source = ?').pluck(),
    deleteChunk: database.prepare('delete from kb_chunks where id = ?'),
    deleteVectors: database.prepare(
      'delete from kb_embeddings where content_hash = ? and not exists (select 1 from kb_chunks where content_hash = ?)',
    ),
    unindex: database.prepare(
      `insert into kb_chunks_fts (kb_chunks_fts, rowid, ${columns}) values ('delete', ?, ${placeholders})`,
    ),
    index: database.prepare(`insert into kb_chunks_fts (rowid, ${columns}) values (?, ${placeholders})`),
    addChunk: database.prepare(
      `insert into kb_chunks (source, chunk_id, heading, heading_path, start_line, end_line, content, content_hash, tokens,
        length, stream) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    addSource: database.prepare(`insert into kb_sources (${source}) values (${names.map(() => '?').join(', ')})`),
    updateSource: database.prepare(
      `update kb_sources set ${names.map((name) => `${name} = ?`).join(', ')} where id = ?`,
    ),
    setProblem: database.prepare('update kb_sources set status = ?, reason = ?, detail = ? where id = ?'),
    touch: database.prepare(
      `update kb_sources set bytes = ?, mtime = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, read_at = ?, commit_time = ?,
        status = 'indexed', reason = null, detail = null where id = ?`,
    ),
    deleteSource: database.prepare('delete from kb_sources where id = ?'),
  };
}
