import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { moveAside, openIndex } from './open-index.js';
import { columnFrequencies, decodeStream, frequencyColumn, termFrequencies } from './token-stream.js';
import { searchTerm } from './write-source.js';

export interface RepairOptions {
  /** Reports without repairing. */
  readonly check: boolean;
  /** Compares the hash of every indexed file with the disk. */
  readonly deep: boolean;
  /** The repo whose files are compared; all when absent. */
  readonly repo?: string;
}

/** One check: how much it found, how much of that was repaired, and what to do. */
interface RepairCheck {
  readonly name: string;
  readonly found: number;
  readonly repaired: number;
  readonly remedy: string;
}

export interface RepairReport {
  readonly checks: readonly RepairCheck[];
  /** A refresh has to index files again. */
  readonly needs_refresh: boolean;
}

const columns = columnFrequencies.map((_, index) => `f${index + 1}`);

/** Deletes all rows of a repo; its search rows are removed with the terms that they were written with. */
function dropRepo(database: Database, repo: number): void {
  database
    .transaction(() => {
      const chunks = database
        .prepare('select kb_chunks.id, stream from kb_chunks join kb_sources on kb_sources.id = source where repo = ?')
        .all([repo]) as { id: number; stream: Uint8Array }[];
      for (const { id, stream } of chunks) changeSearchRow(database, id, stream, 'delete');
      for (const table of ['kb_sources', 'kb_terms'])
        database.prepare(`delete from ${table} where repo = ?`).run([repo]);
      database
        .prepare('delete from kb_embeddings where content_hash not in (select content_hash from kb_chunks)')
        .run([]);
      database
        .prepare('update kb_repos set revision = revision + 1, policy = null, last_refresh = null where id = ?')
        .run([repo]);
    })
    .immediate();
}

function changeSearchRow(database: Database, id: number, stream: Uint8Array, change: 'delete' | 'insert'): void {
  const texts: string[] = columns.map(() => '');
  for (const [term, frequency] of termFrequencies(decodeStream(stream))) {
    texts[frequencyColumn(frequency)] += ` ${searchTerm(term)}`;
  }
  const marks = columns.map(() => '?').join(', ');
  const list = columns.join(', ');
  const sql =
    change === 'insert'
      ? `insert into kb_chunks_fts (rowid, ${list}) values (?, ${marks})`
      : `insert into kb_chunks_fts (kb_chunks_fts, rowid, ${list}) values ('delete', ?, ${marks})`;
  database.prepare(sql).run([id, ...texts]);
}

/** Checks the index file and repairs what it finds; a second repair finds nothing. */
function run(
  file: string,
  { check, deep, repo }: RepairOptions,
  { progress }: { progress(phase: string, done: number, total: number): void },
): RepairReport {
  const checks: RepairCheck[] = [];
  const add = (name: string, found: number, remedy: string, repair?: () => void): void => {
    if (found > 0 && !check) repair?.();
    checks.push({ name, found, repaired: found > 0 && !check && repair !== undefined ? found : 0, remedy });
  };
  if (!existsSync(file)) return { checks: [], needs_refresh: true };
  let index: ReturnType<typeof openIndex>;
  try {
    index = openIndex(file, { write: !check });
  } catch (error) {
    if (!check || (error as { code?: string }).code !== 'index_unavailable') throw error;
  }
  if (index === undefined) {
    add('file', 1, 'The file is damaged or incomplete: mortise kb repair builds it again.');
    return { checks, needs_refresh: true };
  }
  const { database } = index;
  let needsRefresh = index.repaired.length > 0;
  try {
    add('file', index.repaired.length, 'Moved aside or completed; a refresh indexes the files again.', () => undefined);
    add('fts5', 0, 'Install the dependencies again (npm ci).');
    add('schema', 0, 'Use the version that wrote the index.');
    progress('integrity', 0, 0);
    const isIntact =
      database.prepare('pragma integrity_check(1)').pluck().get([]) === 'ok' && isSearchTableIntact(database);
    if (!isIntact) {
      add('integrity', 1, 'The file is moved aside and built again.', () => {
        database.close();
        moveAside(file);
      });
      return { checks, needs_refresh: true };
    }
    add('integrity', 0, 'The file is moved aside and built again.');
    add(
      'foreign_keys',
      count(database, 'select count(*) from pragma_foreign_key_check'),
      'Rows without a parent are deleted.',
      () => {
        for (const table of ['kb_chunks', 'kb_sources', 'kb_terms']) deleteOrphans(database, table);
      },
    );
    const noChunk = count(
      database,
      'select count(*) from kb_chunks_fts_docsize where id not in (select id from kb_chunks)',
    );
    const noSearchRow = count(
      database,
      'select count(*) from kb_chunks where id not in (select id from kb_chunks_fts_docsize)',
    );
    add('search_rows', noChunk + noSearchRow, 'The search table is built again from the stored chunks.', () =>
      rebuildSearch(database, progress),
    );
    const wrong = wrongFrequencies(database);
    add('term_counts', wrong, 'The counts are computed again.', () => recountTerms(database));
    const orphanVectors = 'from kb_embeddings where content_hash not in (select content_hash from kb_chunks)';
    add('vectors', count(database, `select count(*) ${orphanVectors}`), 'Vectors without content are deleted.', () => {
      database.exec(`delete ${orphanVectors}`);
    });
    if (deep) {
      const changed = changedFiles(database, repo, progress);
      add('file_hashes', changed.length, 'The next refresh reads these files again.', () => {
        const reset = database.prepare(
          "update kb_sources set read_at = 0, mtime_ns = '', file_hash = null where id = ?",
        );
        for (const id of changed) reset.run([id]);
        needsRefresh = true;
      });
    }
    return { checks, needs_refresh: needsRefresh };
  } finally {
    index.close();
  }
}

function count(database: Database, sql: string): number {
  return Number(database.prepare(sql).pluck().get([]));
}

function isSearchTableIntact(database: Database): boolean {
  try {
    database.exec("insert into kb_chunks_fts (kb_chunks_fts) values ('integrity-check')");
    return true;
  } catch {
    return false;
  }
}

function deleteOrphans(database: Database, table: string): void {
  const rows = database.prepare(`select rowid from pragma_foreign_key_check('${table}')`).pluck().all([]);
  for (const row of rows) database.prepare(`delete from ${table} where rowid = ?`).run([row]);
}

function rebuildSearch(database: Database, progress: (phase: string, done: number, total: number) => void): void {
  const total = count(database, 'select count(*) from kb_chunks');
  database
    .transaction(() => {
      database.exec("insert into kb_chunks_fts (kb_chunks_fts) values ('delete-all')");
      let done = 0;
      const rows = database.prepare('select id, stream from kb_chunks order by id').all([]) as {
        id: number;
        stream: Uint8Array;
      }[];
      for (const { id, stream } of rows) {
        changeSearchRow(database, id, stream, 'insert');
        done += 1;
        if (done % 1_000 === 0) progress('search_rows', done, total);
      }
      database.exec('update kb_repos set revision = revision + 1');
    })
    .immediate();
}

function frequencies(database: Database): Map<number, number> {
  const counts = new Map<number, number>();
  const rows = database.prepare('select stream from kb_chunks').pluck().all([]) as Uint8Array[];
  for (const stream of rows) {
    for (const id of termFrequencies(decodeStream(stream)).keys()) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

function wrongFrequencies(database: Database): number {
  const counts = frequencies(database);
  const rows = database.prepare('select id, df from kb_terms').raw().all([]) as [number, number][];
  const known = new Set(rows.map(([id]) => id));
  const missing = [...counts.keys()].filter((id) => !known.has(id)).length;
  return missing + rows.filter(([id, df]) => (counts.get(id) ?? 0) !== df).length;
}

function recountTerms(database: Database): void {
  const counts = frequencies(database);
  database
    .transaction(() => {
      const update = database.prepare('update kb_terms set df = ? where id = ?');
      for (const id of database.prepare('select id from kb_terms').pluck().all([]) as number[])
        update.run([counts.get(id) ?? 0, id]);
      database.exec('delete from kb_terms where df = 0');
      database.exec('update kb_repos set revision = revision + 1');
    })
    .immediate();
}

function changedFiles(
  database: Database,
  repo: string | undefined,
  progress: (phase: string, done: number, total: number) => void,
): readonly number[] {
  const rows = database
    .prepare(
      `select kb_sources.id, root, path, file_hash from kb_sources join kb_repos on kb_repos.id = repo
       where status = 'indexed' and kb_repos.name = coalesce(?, kb_repos.name)`,
    )
    .all([repo ?? null]) as { id: number; root: string; path: string; file_hash: string }[];
  return rows
    .filter(({ root, path, file_hash: stored }, done) => {
      if (done % 500 === 0) progress('file_hashes', done, rows.length);
      try {
        return hash('sha256', readFileSync(join(root, path))) !== stored;
      } catch {
        return true;
      }
    })
    .map(({ id }) => id);
}

export const repairIndex = { run, dropRepo };
