import { closeSync, openSync, readSync, statSync } from 'node:fs';

/** The state of the write-ahead log, from the shared memory of the processes that have the database open. */
interface LogState {
  /** Changes before SQLite begins to copy from the log into the database file. */
  readonly copies: string;
  readonly isCopying: boolean;
  /** Maximum size of the database file once everything is copied. */
  readonly size: number;
}

interface Mark {
  /** Nanoseconds. */
  readonly modifiedAt: bigint;
  readonly size: number;
  readonly log: LogState | undefined;
  /** Some pages of the file. */
  readonly pages: Buffer | undefined;
}

const sampledPages = 16;
const pageBytes = 4_096;

/**
 * Detects that another program overwrote the database file. With a write-ahead log SQLite changes
 * the file only when it copies from the log, which it announces in shared memory before the first byte. The offsets are
 * those of the WAL-index (https://sqlite.org/walformat.html).
 *
 * Both files stay open: a process that closes a file loses the locks that SQLite has on it, by any handle
 * (https://sqlite.org/howtocorrupt.html, 2.2).
 */
export class SqliteFileMark {
  readonly #path: string;
  readonly #opened = new Map<string, number>();
  #mark: Mark | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Call it when no connection of the process is open. */
  close(): void {
    for (const file of this.#opened.values()) closeSync(file);
    this.#opened.clear();
  }

  /** Accepts the file's current content as the database. */
  set(): void {
    this.#mark = this.#read();
  }

  /**
   * Whether another program has written since the last check. Not detected: a copy of the same size whose sampled pages are
   * equal, and one that is no larger and is followed by a copy from the log before the next check.
   */
  isOverwritten(): boolean {
    const before = this.#mark;
    if (before === undefined || modifiedAt(this.#path) === before.modifiedAt) return false;
    const now = this.#read();
    if (now === undefined) return false;
    const isAnnounced = before.log === undefined || before.log.isCopying || before.log.copies !== now.log?.copies;
    const isOther = before.pages === undefined || now.pages?.equals(before.pages) !== true;
    const largest = Math.max(before.size, now.log?.size ?? Number.POSITIVE_INFINITY);
    if ((!isAnnounced && isOther) || now.size > largest) return true;
    this.#mark = now;
    return false;
  }

  #read(): Mark | undefined {
    const first = this.#logState();
    const found = statSync(this.#path, { bigint: true, throwIfNoEntry: false });
    if (found === undefined) return undefined;
    const size = Number(found.size);
    const step = Math.max(1, Math.floor(size / pageBytes / sampledPages));
    const parts = Array.from({ length: sampledPages }, (_, index) =>
      this.#part(this.#path, index * step * pageBytes, pageBytes),
    );
    const pages = parts.every((part) => part !== undefined) ? Buffer.concat(parts) : undefined;
    const last = this.#logState();
    // The file was changed while it was read.
    const isUnsure = first?.copies !== last?.copies || modifiedAt(this.#path) !== found.mtimeNs;
    return { modifiedAt: found.mtimeNs, size, log: last && { ...last, isCopying: last.isCopying || isUnsure }, pages };
  }

  #logState(): LogState | undefined {
    const bytes = this.#part(`${this.#path}-shm`, 0, 136);
    if (bytes === undefined || bytes.length < 136) return undefined;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const number = (offset: number): number => view.getUint32(offset, isLittleEndian);
    const [copied, attempted] = [number(96), number(128)];
    const salts = bytes.subarray(32, 40).toString('hex');
    const pageSize = view.getUint16(14, isLittleEndian);
    return {
      copies: `${salts} ${attempted}`,
      isCopying: copied !== attempted,
      size: number(20) * (pageSize === 1 ? 65_536 : pageSize),
    };
  }

  /** Undefined when the file cannot be read. */
  #part(path: string, start: number, length: number): Buffer | undefined {
    try {
      const file = this.#opened.get(path) ?? openSync(path, 'r');
      this.#opened.set(path, file);
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(file, bytes, 0, length, start));
    } catch {
      return undefined;
    }
  }
}

const isLittleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

function modifiedAt(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.mtimeNs;
}
