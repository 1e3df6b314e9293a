import { readFileSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';

/** Where the header says whether a file has a write-ahead log (2) or a rollback journal (1). */
const journalBytes = [18, 19];

/** Errors of a disk on which SQLite cannot make the files that it shares among readers. */
const noFiles = /^SQLITE_(IOERR_SHM|IOERR_WRITE|CANTOPEN|READONLY|FULL)/;

/**
 * A copy of an index in memory, for a disk that is full or read-only: SQLite makes files even to read. Undefined for other
 * errors, and while the log has changes that only SQLite can read.
 */
export function openCopy(file: string, error: unknown): Database | undefined {
  if (!noFiles.test(String((error as { code?: unknown }).code)) || sizeOf(`${file}-wal`) > 0) return undefined;
  const bytes = readFileSync(file);
  for (const at of journalBytes) bytes[at] = 1;
  return new Database(bytes, { readonly: true });
}

/** Differs once a file has been written since. */
export function stateOf(file: string): string {
  const { mtimeMs, size, ino } = statSync(file);
  return [ino, size, mtimeMs, sizeOf(`${file}-wal`)].join('-');
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
