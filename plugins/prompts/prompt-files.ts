import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { maxPromptBytes } from 'mortise/contracts/prompts';
import { type FilesService, MortiseError } from 'mortise/sdk';

/** A prompt text and the path under which it is shown. */
export interface PromptFile {
  readonly source: string;
  readonly text: string;
}

interface CachedFile {
  /** Device, inode, time and size of the file that was read. */
  readonly version: string;
  readonly text: string;
}

/** The error of a prompt text that cannot be used. @param why follows the name of the file */
export function unusable(source: string, why: string): MortiseError {
  return new MortiseError('prompt_text_unusable', `the prompt file ${source} ${why}`);
}

/** Prompt texts of the workspace, and the shipped ones. A file is read again when it has changed. */
export class PromptFiles {
  readonly #files: Pick<FilesService, 'confine'>;
  readonly #workspace: string;
  readonly #shipped: string;
  readonly #cache = new Map<string, CachedFile>();

  /** @param shipped absolute path of the folder with the shipped texts, laid out like a workspace */
  constructor(files: Pick<FilesService, 'confine'>, workspace: string, shipped: string) {
    this.#files = files;
    this.#workspace = workspace;
    this.#shipped = shipped;
  }

  /**
   * The first of these files that exists in the workspace. Relative paths are below it; only settings name absolute ones.
   * @throws prompt_text_unusable when it is larger than 1 MiB or not UTF-8
   */
  async find(paths: readonly string[]): Promise<PromptFile | undefined> {
    for (const path of paths) {
      const text = await this.#workspaceText(path);
      if (text !== undefined) return { source: path, text };
    }
    return undefined;
  }

  /** The shipped text of a path. */
  async shipped(path: string): Promise<PromptFile | undefined> {
    const text = await this.#text(join(this.#shipped, path), path);
    return text === undefined ? undefined : { source: path, text };
  }

  // A turn looks for a dozen files, most of which do not exist. Resolving each path first took a quarter of a turn's time.
  async #workspaceText(path: string): Promise<string | undefined> {
    if (isAbsolute(path)) return this.#text(path, path);
    return this.#text(join(this.#workspace, path), path, () => this.#files.confine(this.#workspace, path));
  }

  /** @param confine resolves the path to the file that may be read, when it was not read before */
  async #text(
    path: string,
    source: string,
    confine: () => Promise<string> = async () => path,
  ): Promise<string | undefined> {
    try {
      const facts = statSync(path, { throwIfNoEntry: false });
      if (facts === undefined || facts.isDirectory()) return undefined;
      const { dev, ino, mtimeMs, size } = facts;
      const version = `${dev} ${ino} ${mtimeMs} ${size}`;
      const cached = this.#cache.get(path);
      if (cached?.version === version) return cached.text;
      const real = await confine();
      if (size > maxPromptBytes) {
        throw unusable(source, `has ${size} bytes, more than ${maxPromptBytes}`);
      }
      const text = decode(await readFile(real), source);
      this.#cache.set(path, { version, text });
      return text;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }
}

const missingCodes = ['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'outside_roots'];

/** A link that leaves the workspace counts as missing. */
function isMissing(error: unknown): boolean {
  return error instanceof Error && missingCodes.includes(String(Reflect.get(error, 'code')));
}

/** Refuses text that is not UTF-8, instead of replacing characters, and NUL, which cannot be stored. @throws prompt_text_unusable */
function decode(bytes: Uint8Array, source: string): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch {
    // Not UTF-8.
  }
  throw unusable(source, 'is not UTF-8 text');
}
