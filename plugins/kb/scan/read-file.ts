import { hash } from 'node:crypto';
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { decodeBytes } from '../documents/decode-bytes.js';
import type { SourceProblem } from '../index/write-source.js';

/** A file as it was read, unchanged while reading. */
interface ReadFile {
  readonly stats: BigIntStats;
  readonly fileHash: string;
  readonly text: string;
}

export type ReadOutcome =
  | ({ readonly ok: true } & ReadFile)
  | { readonly ok: false; readonly problem: SourceProblem; readonly fileHash: string | null };

/** Attempts for a file that changes while it is read. */
const attempts = 3;

/** Reads and decodes a file. Does not wait for a FIFO that replaced it. */
export function readSource(file: string, maxBytes: number): ReadOutcome {
  let read: { stats: BigIntStats; bytes: Buffer } | 'too_large' | undefined;
  try {
    for (let attempt = 0; attempt < attempts && read === undefined; attempt += 1) read = readOnce(file, maxBytes);
  } catch (error) {
    return failed('error', 'unreadable', String((error as NodeJS.ErrnoException).code ?? 'unknown'));
  }
  if (read === 'too_large') return failed('skipped', 'too_large', `larger than ${maxBytes} bytes`);
  if (read === undefined) return failed('error', 'file_changing', 'the file changed while it was read');
  const fileHash = hash('sha256', read.bytes);
  const decoded = decodeBytes(read.bytes);
  if ('text' in decoded) return { ok: true, stats: read.stats, fileHash, text: decoded.text };
  if (decoded.reason === 'binary') return failed('skipped', 'binary', 'a NUL byte at the beginning', fileHash);
  return failed('error', 'invalid_utf8', `not UTF-8 at byte ${decoded.offset}`, fileHash);
}

function failed(
  status: SourceProblem['status'],
  reason: string,
  detail: string,
  fileHash: string | null = null,
): ReadOutcome {
  return { ok: false, problem: { status, reason, detail }, fileHash };
}

/** Undefined when the file changed while it was being read. */
function readOnce(file: string, maxBytes: number): { stats: BigIntStats; bytes: Buffer } | 'too_large' | undefined {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const before = fstatSync(descriptor, { bigint: true });
    if (!before.isFile()) throw Object.assign(new Error('Not a regular file.'), { code: 'not a regular file' });
    if (before.size > BigInt(maxBytes)) return 'too_large';
    // One byte more than it has, to notice that it has grown.
    const bytes = Buffer.allocUnsafe(Number(before.size) + 1);
    let length = 0;
    for (let got = -1; got !== 0 && length < bytes.length; length += got) {
      got = readSync(descriptor, bytes, length, bytes.length - length, null);
    }
    const after = fstatSync(descriptor, { bigint: true });
    const isSame = after.size === before.size && after.mtimeNs === before.mtimeNs && length === Number(before.size);
    return isSame ? { stats: after, bytes: bytes.subarray(0, length) } : undefined;
  } finally {
    closeSync(descriptor);
  }
}
