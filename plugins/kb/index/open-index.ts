import { chmodSync, closeSync, existsSync, openSync, readFileSync, readSync, renameSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { kbError } from '../errors.js';
import { migrations, schemaVersion, tables } from './schema.js';

/** An open index file. Work on it is synchronous: it belongs to a worker thread. */
export interface IndexFile {
  readonly file: string;
  readonly database: Database;
  /** What was repaired while opening; cleared by the report that shows it. */
  readonly repaired: string[];
  /** Whether the file of this connection is still the one on disk and has all its tables. */
  isCurrent(): boolean;
  close(): void;
}

/** How long to wait for a lock of another process, milliseconds. */
const busyMs = 5_000;

interface OpenOptions {
  /** Creates and repairs; without it a missing or incomplete index is reported as undefined. */
  readonly write: boolean;
}

/**
 * Opens the index. A writer creates it, completes it when tables are missing, and moves a damaged file aside; what was
 * indexed is then built again by the next refresh.
 *
 * @throws MortiseError `fts5_not_available`, `index_newer`, `index_unavailable`
 */
export function openIndex(file: string, { write }: OpenOptions): IndexFile | undefined {
  if (!write && !existsSync(file)) return undefined;
  const repaired: string[] = [];
  if (statSync(file, { throwIfNoEntry: false })?.size === 0)
    repaired.push('The file of the index was empty; the index is built again.');
  let connected = connect(file, write);
  if (connected === undefined) {
    if (!write) throw kbError('index_unavailable', { problem: 'its file is damaged' });
    repaired.push(`The damaged index was moved to ${moveAside(file)} and is built again.`);
    connected = connect(file, write);
    if (connected === undefined) throw kbError('index_unavailable', { problem: 'its file is damaged' });
  }
  const { database, isCopy } = connected;
  try {
    assertFts5(database);
    const found = versionOf(database);
    if (found > schemaVersion) throw kbError('index_newer', { found, known: schemaVersion });
    if (write) repaired.push(...complete(database, found));
    else {
      const missing = missingTables(database);
      // Another process may be creating it; an index that has lost tables answers nothing that is true.
      if (missing.length > 0 && missing.length < tables.length)
        throw kbError('index_unavailable', { problem: `it has no table ${missing[0]}` });
      if (missing.length > 0) {
        database.close();
        return undefined;
      }
    }
    database.exec(
      'create virtual table if not exists temp.kb_vocabulary using fts5vocab(main, kb_chunks_fts, instance)',
    );
  } catch (error) {
    if (database.open) database.close();
    throw error;
  }
  const identity = isCopy ? stateOf : identityOf;
  const opened = identity(file);
  return {
    file,
    database,
    repaired,
    isCurrent: () => identity(file) === opened && missingTables(database).length === 0,
    close: () => {
      if (database.open) database.close();
    },
  };
}

/** Undefined for a file that is not a database, or is damaged. @throws MortiseError `index_unavailable` */
function connect(file: string, write: boolean): { readonly database: Database; readonly isCopy: boolean } | undefined {
  if (isNoDatabase(file)) return undefined;
  let database: Database | undefined;
  try {
    if (write) keepPrivate(file);
    database = new Database(file, { timeout: busyMs });
    // Passages are longer than a part of the default page: fewer of them leave a rest. Without effect on a file that exists.
    if (write) database.pragma('page_size = 16384');
    if (write) database.pragma('journal_mode = wal');
    database.pragma('synchronous = normal');
    database.pragma('foreign_keys = on');
    database.pragma('cache_size = -16000');
    // A full disk has no room for the temporary tables of a reader.
    database.pragma('temp_store = memory');
    database.prepare('select count(*) from sqlite_schema').get();
    return { database, isCopy: false };
  } catch (error) {
    database?.close();
    const code = String((error as { code?: unknown }).code);
    if (/^SQLITE_(NOTADB|CORRUPT)/.test(code)) return undefined;
    const copy = write ? undefined : openCopy(file, error);
    if (copy) return { database: copy, isCopy: true };
    throw toUnavailable(error);
  }
}

/** The last check of a file's structure. */
export interface IntegrityCheck {
  readonly isIntact: boolean;
  /** Epoch milliseconds. */
  readonly at: number;
}

/**
 * Checks the structure of a file when it has changed, at most for a tenth of the time: a large index takes seconds. Each
 * check has a connection of its own: an older one may hold a state of the search table that others have replaced, and
 * report it as damage.
 */
export function createIntegrityCheck(file: string): () => IntegrityCheck {
  let last: (IntegrityCheck & { readonly state: string; readonly tookMs: number }) | undefined;
  return () => {
    const state = [file, `${file}-wal`].map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0).join();
    const begun = Date.now();
    if (last && (last.state === state || begun - last.at < 10 * last.tookMs)) return last;
    const database = new Database(file, { readonly: true, timeout: busyMs });
    try {
      const isIntact = database.prepare('pragma quick_check(1)').pluck().get([]) === 'ok';
      last = { isIntact, at: Date.now(), state, tookMs: Date.now() - begun };
      return last;
    } finally {
      database.close();
    }
  };
}

/** The index has the texts of all repositories: only its owner may read it. Its log files get the same rights. */
function keepPrivate(file: string): void {
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
  for (const part of ['', '-wal', '-shm']) {
    const found = statSync(`${file}${part}`, { throwIfNoEntry: false });
    if (found && (found.mode & 0o077) !== 0) chmodSync(`${file}${part}`, 0o600);
  }
}

/** Any database error that is not coded, as `index_unavailable`. */
export function toUnavailable(error: unknown): Error {
  if ((error as { status?: unknown }).status !== undefined) return error as Error;
  const code = String((error as { code?: unknown }).code ?? '');
  const problem = /FULL/.test(code)
    ? 'the disk is full'
    : /BUSY|LOCKED/.test(code)
      ? 'another process has locked it'
      : /CORRUPT|NOTADB/.test(code)
        ? 'its file is damaged'
        : 'its file cannot be opened or created';
  return kbError('index_unavailable', { problem }, { cause: error });
}

const header = 'SQLite format 3\0';

function isNoDatabase(file: string): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch {
    return false;
  }
  try {
    const bytes = Buffer.alloc(header.length);
    const read = readSync(descriptor, bytes, 0, bytes.length, 0);
    // SQLite itself makes a database of an empty file.
    return read > 0 && bytes.toString('latin1') !== header;
  } finally {
    closeSync(descriptor);
  }
}

/** Renames an index file with its log, so that it is built again. @returns the name that it has now, without its folder */
export function moveAside(file: string): string {
  const suffix = `damaged-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  for (const part of ['', '-wal', '-shm']) {
    if (existsSync(`${file}${part}`)) renameSync(`${file}${part}`, `${file}.${suffix}${part}`);
  }
  return `kb.db.${suffix}`;
}

function identityOf(file: string): string {
  try {
    const { ino, dev } = statSync(file);
    return `${dev}-${ino}`;
  } catch {
    return 'missing';
  }
}

function assertFts5(database: Database): void {
  const modules = database.prepare("select 1 from pragma_module_list where name = 'fts5'").get();
  if (modules !== undefined) return;
  const version = String(database.prepare('select sqlite_version()').pluck().get());
  throw kbError('fts5_not_available', { version });
}

function versionOf(database: Database): number {
  const hasMeta = database.prepare("select 1 from sqlite_schema where name = 'kb_index_meta'").get() !== undefined;
  if (!hasMeta) return 0;
  const value = database.prepare("select value from kb_index_meta where key = 'schema_version'").pluck().get();
  return Number(value ?? 0);
}

function missingTables(database: Database): readonly string[] {
  const present = new Set(database.prepare("select name from sqlite_schema where type = 'table'").pluck().all());
  return tables.filter((name) => !present.has(name));
}

/** Applies the migrations. When a table is missing from an index in use, its remains are deleted, to be built again. */
function complete(database: Database, found: number): readonly string[] {
  const missing = missingTables(database);
  if (missing.length === 0 && found === schemaVersion) return [];
  const isNew = missing.length === tables.length;
  database
    .transaction(() => {
      if (!isNew) for (const name of tables) database.exec(`drop table if exists ${name}`);
      for (const statements of migrations) for (const statement of statements) database.exec(statement);
      database
        .prepare("insert or replace into kb_index_meta (key, value) values ('schema_version', ?)")
        .run([String(schemaVersion)]);
    })
    .immediate();
  if (isNew) return [];
  return [`Tables were missing (${missing.join(', ')}); the index is built again.`];
}

/** Where the header says whether a file has a write-ahead log (2) or a rollback journal (1). */
const journalBytes = [18, 19];

/** Errors of a disk on which SQLite cannot make the files that it shares among readers. */
const noFiles = /^SQLITE_(IOERR_SHM|IOERR_WRITE|CANTOPEN|READONLY|FULL)/;

/**
 * A copy of an index in memory, for a disk that is full or read-only: SQLite makes files even to read. Undefined for other
 * errors, and while the log has changes that only SQLite can read.
 */
function openCopy(file: string, error: unknown): Database | undefined {
  if (!noFiles.test(String((error as { code?: unknown }).code)) || sizeOf(`${file}-wal`) > 0) return undefined;
  const bytes = readFileSync(file);
  for (const at of journalBytes) bytes[at] = 1;
  return new Database(bytes, { readonly: true });
}

/** Differs once a file has been written since. */
function stateOf(file: string): string {
  const { mtimeMs, size, ino } = statSync(file);
  return [ino, size, mtimeMs, sizeOf(`${file}-wal`)].join('-');
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
