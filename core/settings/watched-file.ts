import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** The result of checking a file. */
export type FileContent =
  | { readonly kind: 'absent' }
  | { readonly kind: 'unusable'; readonly reason: string; readonly sha256: string }
  | { readonly kind: 'text'; readonly text: string; readonly sha256: string; readonly mode: number };

interface Stamp {
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly size: bigint;
  readonly ino: bigint;
}

const maxBytes = 1_048_576n;
/** A write in the same tick of a coarse file clock keeps the stamp: for this long after a load the bytes are compared. */
const freshMs = 2_000;
/** And at this interval in any case, for tools that restore the time stamp. */
const rehashMs = 10_000;

function sameStamp(a: Stamp | undefined, b: Stamp): boolean {
  return a !== undefined && a.mtimeNs === b.mtimeNs && a.size === b.size && a.ctimeNs === b.ctimeNs && a.ino === b.ino;
}

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

function errorCode(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : 'unknown error';
}

/**
 * A polled file. The stamp (modification time in nanoseconds, size, change time, inode) decides
 * whether it is read, the hash of its bytes whether it changed.
 */
export class WatchedFile {
  readonly path: string;
  readonly #now: () => number;
  #stamp: Stamp | undefined;
  #hash: string | undefined;
  #looked = false;
  #loadedAt = 0;
  #hashedAt = 0;

  constructor(path: string, now: () => number) {
    this.path = path;
    this.#now = now;
  }

  /** The file's content if it differs from the last check, else undefined. `force` compares the bytes in any case. */
  async look(force = false): Promise<FileContent | undefined> {
    for (let attempt = 0; ; attempt += 1) {
      const seen = await this.#read(force);
      // A file that changes under the reader is read again: a partly written file must not be reported as invalid.
      if (seen !== 'moving' || attempt >= 5) return seen === 'moving' ? undefined : seen;
      await new Promise<void>((resolve) => setTimeout(resolve, 5));
    }
  }

  async #read(force: boolean): Promise<FileContent | 'moving' | undefined> {
    let file: Awaited<ReturnType<typeof open>>;
    try {
      // Non-blocking: opening a named pipe would otherwise block forever.
      file = await open(this.path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    } catch (error) {
      return errorCode(error) === 'ENOENT' ? this.#absent() : this.#unusable(`cannot be read (${errorCode(error)})`);
    }
    try {
      const before = await file.stat({ bigint: true });
      if (!before.isFile()) return this.#unusable('is not a regular file');
      if (sameStamp(this.#stamp, before) && !force && !this.#mustHash()) return undefined;
      if (before.size > maxBytes) {
        return this.#unusable(
          `is larger than 1 MiB (${before.size} bytes)`,
          `${before.size} ${before.mtimeNs}`,
          before,
        );
      }
      const bytes = await file.readFile();
      if (!sameStamp(await file.stat({ bigint: true }), before)) return 'moving';
      return this.#loaded(bytes, before, Number(before.mode & 0o777n));
    } catch (error) {
      return this.#unusable(`cannot be read (${errorCode(error)})`);
    } finally {
      await file.close();
    }
  }

  #mustHash(): boolean {
    const now = this.#now();
    return now - this.#loadedAt <= freshMs || now - this.#hashedAt >= rehashMs;
  }

  #absent(): FileContent | undefined {
    const known = this.#looked && this.#hash === undefined;
    this.#looked = true;
    this.#stamp = undefined;
    this.#hash = undefined;
    return known ? undefined : { kind: 'absent' };
  }

  #unusable(reason: string, identity = reason, stamp?: Stamp): FileContent | undefined {
    const hash = sha256(`${reason}\n${identity}`);
    this.#stamp = stamp;
    return this.#differs(hash) ? { kind: 'unusable', reason, sha256: hash } : undefined;
  }

  #loaded(bytes: Uint8Array, stamp: Stamp, mode: number): FileContent | undefined {
    const hash = sha256(bytes);
    this.#stamp = stamp;
    this.#hashedAt = this.#now();
    // A change of the mode alone counts too: it decides whether a file with secrets may be used.
    if (!this.#differs(hash, mode)) return undefined;
    this.#loadedAt = this.#now();
    const text = new TextDecoder('utf-8').decode(bytes);
    return { kind: 'text', text, sha256: hash, mode };
  }

  #differs(hash: string, mode = 0): boolean {
    const identity = `${hash} ${mode}`;
    if (this.#looked && this.#hash === identity) return false;
    this.#looked = true;
    this.#hash = identity;
    return true;
  }
}
