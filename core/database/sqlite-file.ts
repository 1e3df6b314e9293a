import { readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { DatabaseFile } from './engine.js';
import type { SingleConnection } from './single-connection.js';
import type { SqliteCheckpoints } from './sqlite-checkpoints.js';
import { execute, type SqliteConnection } from './sqlite-connection.js';
import { SqliteFileMark } from './sqlite-file-mark.js';
import type { StorageState } from './storage-watch.js';

/** Unchanged when a file is moved on its disk. */
interface FileIdentity {
  readonly device: number;
  readonly inode: number;
}

/** A file that was changed within this time may still be being copied, milliseconds. */
const settlingMs = 1_500;

/** The file of an open database, compared with the file that has its name now. */
export class SqliteFile implements DatabaseFile {
  readonly #path: string;
  readonly #logPath: string;
  readonly #connections: SingleConnection<SqliteConnection>;
  readonly #checkpoints: SqliteCheckpoints;
  #mark: SqliteFileMark;
  #overwritten = false;
  #database: FileIdentity | undefined;
  #connection: SqliteConnection | undefined;
  /** At the last check: the size of the file, and what other processes have written. */
  #seen: { readonly size: number; readonly version: string | undefined } = { size: 0, version: undefined };
  /** The write-ahead log, which SQLite keeps while a connection is open. */
  #log: FileIdentity | undefined;

  constructor(path: string, connections: SingleConnection<SqliteConnection>, checkpoints: SqliteCheckpoints) {
    this.#path = path;
    this.#logPath = `${path}-wal`;
    this.#connections = connections;
    this.#checkpoints = checkpoints;
    this.#mark = new SqliteFileMark(path);
  }

  /** A connection was opened. */
  opened(connection: SqliteConnection): void {
    // SQLite makes the log with the first statement that reads.
    connection.pragma('schema_version');
    this.#database = fileAt(this.#path);
    this.#connection = connection;
    this.#seen = { size: sizeOf(this.#path), version: this.#versionOfOthers() };
    this.#log = fileAt(this.#logPath);
    this.#mark.set();
    this.#overwritten = false;
  }

  async look(): Promise<StorageState> {
    if (this.#database === undefined) return 'intact';
    const now = fileAt(this.#path);
    if (now === undefined) return 'missing';
    if (!isSame(now, this.#database)) return 'replaced';
    this.#overwritten ||= this.#checkpoints.foundOverwritten || this.#isCut() || this.#mark.isOverwritten();
    if (this.#overwritten) return 'overwritten';
    await this.#keepLog();
    return 'intact';
  }

  read(sql: string): readonly object[] | undefined {
    const connection = this.#connection;
    if (this.#database === undefined || connection === undefined || connection.inTransaction) return undefined;
    return execute(connection, sql, []).rows;
  }

  /** The log keeps its name when the file is moved: a database put in its place would be opened with it. */
  async preserve(): Promise<void> {
    if (isSame(fileAt(this.#path), this.#database)) {
      this.#dropLog();
      // Connections share their state of the log, also with a new one.
      return this.#closeAll();
    }
    if (!(await this.#copyLog()) || !isSame(fileAt(this.#logPath), this.#log)) return;
    for (const suffix of ['-wal', '-shm']) rmSync(`${this.#path}${suffix}`, { force: true });
  }

  async isUsable(holds: (read: (sql: string) => readonly object[]) => boolean): Promise<boolean> {
    const { mtimeMs = Date.now(), size = 0 } = statSync(this.#path, { throwIfNoEntry: false }) ?? {};
    if (size === 0 || Date.now() - mtimeMs < settlingMs) return false;
    try {
      return readDatabase(this.#path, (database) => {
        const number = (name: string): number => Number(database.pragma(name, { simple: true }));
        // Shorter than its header says: it was not copied completely.
        if (size < number('page_count') * number('page_size')) return false;
        return holds((sql) => database.prepare(sql).all());
      });
    } catch {
      return false;
    }
  }

  async reopen(): Promise<void> {
    await this.#closeAll();
    this.#mark.close();
    this.#mark = new SqliteFileMark(this.#path);
    this.#database = undefined;
  }

  /** All connections are closed. */
  close(): void {
    this.#mark.close();
  }

  openPath(): string | undefined {
    return this.#database && descriptorOf(this.#database);
  }

  /** The file is shorter than at the last check, and no other process has written, so it was not a vacuum. */
  #isCut(): boolean {
    const before = this.#seen;
    const now = { size: sizeOf(this.#path), version: this.#versionOfOthers() };
    const isShorter = now.size < before.size;
    if (isShorter && (now.size === 0 || now.version === undefined || now.version === before.version)) return true;
    this.#seen = now;
    return false;
  }

  /**
   * A number that changes with every write of another process; undefined when the file cannot be read. Synchronous: it
   * may be asked within a transaction.
   */
  #versionOfOthers(): string | undefined {
    try {
      return JSON.stringify(this.#connection?.pragma('data_version'));
    } catch {
      return undefined;
    }
  }

  async #closeAll(): Promise<void> {
    this.#connection = undefined;
    this.#connections.discard();
    await this.#checkpoints.restart();
  }

  /** Of a file that was overwritten in place: the log of the former content would be copied into the new one. */
  #dropLog(): void {
    truncateSync(this.#logPath);
    for (const suffix of ['-wal', '-shm']) rmSync(`${this.#path}${suffix}`, { force: true });
  }

  /** A log that was deleted is copied into the database while this process still has it open, and created again. */
  async #keepLog(): Promise<void> {
    const now = fileAt(this.#logPath);
    this.#log ??= now;
    if (this.#log === undefined || isSame(now, this.#log)) return;
    if (await this.#copyLog()) await this.reopen();
  }

  /** @returns false while another connection keeps a part of the log from being copied */
  async #copyLog(): Promise<boolean> {
    const connection = await this.#connections.take();
    try {
      const [outcome] = connection.pragma('wal_checkpoint(TRUNCATE)') as { readonly busy: number }[];
      return outcome?.busy === 0;
    } finally {
      this.#connections.release(connection);
    }
  }
}

function readDatabase<T>(path: string, read: (database: Database) => T): T {
  const database = new Database(path, { readonly: true, fileMustExist: true });
  try {
    return read(database);
  } finally {
    database.close();
  }
}

function fileAt(path: string): FileIdentity | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && { device: found.dev, inode: found.ino };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function isSame(one: FileIdentity | undefined, other: FileIdentity | undefined): boolean {
  return one?.device === other?.device && one?.inode === other?.inode;
}

/** The path of this process's descriptor of a file that has lost its name; undefined outside Linux. */
function descriptorOf(file: FileIdentity): string | undefined {
  const folder = `/proc/${process.pid}/fd`;
  try {
    return readdirSync(folder)
      .map((name) => `${folder}/${name}`)
      .find((path) => isSame(fileAt(path), file));
  } catch {
    return undefined;
  }
}
