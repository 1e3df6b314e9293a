import { readdir, stat } from 'node:fs/promises';
import { join, posix, relative, sep } from 'node:path';
import type { WorkspaceFiles } from 'mortise/contracts/tool-files';
import { isCodedError, isUnstorableText } from 'mortise/sdk';
import { workspaceError } from './errors.js';

const folders = ['prompts', 'prompt', 'docs/AI'];
const singleFiles = ['docs/ai-tools.md'];
const mostListed = 5_000;

/** Prompt texts and tool guides in the workspace folder. */
export class TextFiles {
  readonly #files: WorkspaceFiles;
  readonly #single: ReadonlySet<string>;

  /** @param guide path of the configured tool guide, below the workspace; blank for none */
  constructor(files: WorkspaceFiles, guide: string) {
    this.#files = files;
    this.#single = new Set([...singleFiles, ...(guide.trim() === '' ? [] : [posix.normalize(guide.trim())])]);
  }

  /** Whether a path without `..` and backslashes is one of these files. */
  isOne(path: string): boolean {
    return this.#single.has(path) || folders.some((folder) => path.startsWith(`${folder}/`));
  }

  async list(): Promise<readonly { readonly path: string; readonly size: number }[]> {
    const root = await this.#files.root();
    const found = await Promise.all(folders.map((folder) => filesBelow(join(root, folder))));
    const paths = [...[...this.#single].map((path) => join(root, path)), ...found.flat()].slice(0, mostListed);
    const listed = await Promise.all(paths.map((path) => this.#sizeOf(root, path)));
    return listed.filter((one) => one !== undefined);
  }

  /** @throws not_found, invalid_path */
  async read(path: string): Promise<string> {
    const real = await this.#locate(path, 'read');
    const facts = await stat(real).catch(() => undefined);
    if (!facts?.isFile()) throw workspaceError('not_found', { details: { path } });
    return (await this.#files.readText(real)).text;
  }

  /** Creates folders as needed. @throws invalid_ai_tools_guide, invalid_path, file_error */
  async write(path: string, content: unknown): Promise<void> {
    if (typeof content !== 'string' || content.trim() === '' || isUnstorableText(content)) {
      throw workspaceError('invalid_ai_tools_guide');
    }
    await this.#files.exclusive(async () => {
      const real = await this.#locate(path, 'write');
      try {
        await this.#files.commit([{ real, content }]);
      } catch (error) {
        throw isCodedError(error) ? error : workspaceError('file_error', { cause: error });
      }
    });
  }

  /** The real path, which a link must not lead out of the workspace. @throws invalid_path */
  async #locate(path: string, access: 'read' | 'write'): Promise<string> {
    try {
      const real = await this.#files.locate(path, access);
      const below = relative(await this.#files.root(), real);
      if (below !== '' && below !== '..' && !below.startsWith(`..${sep}`)) return real;
    } catch (error) {
      if (!isCodedError(error)) throw error;
    }
    throw workspaceError('invalid_path');
  }

  async #sizeOf(root: string, path: string) {
    const shown = relative(root, path).replaceAll(sep, '/');
    try {
      const facts = await stat(await this.#locate(shown, 'read'));
      return facts.isFile() ? { path: shown, size: facts.size } : undefined;
    } catch {
      return undefined;
    }
  }
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
  } catch {
    return [];
  }
}
