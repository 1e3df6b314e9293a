import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Logger } from 'mortise/sdk';
import { workspaceError } from './errors.js';

/** Largest file of an upload. */
export const maxUploadBytes = 20 * 1_024 * 1_024;

const maxNameLength = 96;
const dayMs = 86_400_000;
const unfinished = '.unfinished-';

/** A stored upload. */
interface Upload {
  /** Absolute path. */
  readonly path: string;
  /** The name that the caller gave, cleaned. */
  readonly name: string;
  /** Bytes. */
  readonly size: number;
}

/** Files that callers send for agents to read. */
export class Uploads {
  readonly #folder: string;
  #last = 0n;

  /** @param folder absolute path; made with the first upload */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Stores a file as a whole, readable by the process's user alone. @throws file_error */
  async store(givenName: string, bytes: Uint8Array): Promise<Upload> {
    const name = uploadName(givenName);
    const stored = `upload-${this.#moment()}-${name}`;
    const path = join(this.#folder, stored);
    const temporary = join(this.#folder, `${unfinished}${stored}`);
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      const file = await open(temporary, 'wx', 0o600);
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined);
      throw workspaceError('file_error', { cause: error });
    }
    return { path, name, size: bytes.length };
  }

  /** Deletes files that are older. @param days 0: none */
  async prune(days: number, log: Logger): Promise<void> {
    if (days === 0) return;
    const before = Date.now() - days * dayMs;
    const names = await readdir(this.#folder).catch(() => []);
    let deleted = 0;
    for (const name of names) {
      const path = join(this.#folder, name);
      const facts = await stat(path).catch(() => undefined);
      if (!facts?.isFile() || facts.mtimeMs >= before) continue;
      await rm(path, { force: true });
      deleted += 1;
    }
    if (deleted > 0) log.info({ deleted, days }, 'old uploads were deleted');
  }

  /** Epoch nanoseconds, each one once. */
  #moment(): bigint {
    const now = BigInt(Date.now()) * 1_000_000n;
    this.#last = now > this.#last ? now : this.#last + 1n;
    return this.#last;
  }
}

/** A name that is safe on every file system. */
function uploadName(given: string): string {
  const base = basename(given.replaceAll('\\', '/'));
  const kept = base.replaceAll(' ', '_').replaceAll(/[^A-Za-z0-9._-]/g, '');
  const trimmed = kept.replace(/^[._-]+/, '').slice(0, maxNameLength);
  return trimmed.replace(/[._-]+$/, '') || 'upload.bin';
}

/** The file of a multipart form. @throws invalid_multipart */
export async function readUpload(
  body: Uint8Array,
  contentType: string | undefined,
): Promise<{ readonly name: string; readonly bytes: Uint8Array }> {
  let form: FormData;
  try {
    form = await new Response(body, { headers: { 'content-type': contentType ?? '' } }).formData();
  } catch (error) {
    throw workspaceError('invalid_multipart', { cause: error });
  }
  const file = form.get('file');
  if (!(file instanceof File)) {
    throw workspaceError('invalid_multipart', { message: 'multipart field "file" is required' });
  }
  return { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) };
}
