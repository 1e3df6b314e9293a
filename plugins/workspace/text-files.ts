import { readdir, stat } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { promptProblem } from 'mortise/contracts/prompts';
import type { FileChange, WorkspaceFiles } from 'mortise/contracts/tool-files';
import { isCodedError, pathBelow } from 'mortise/sdk';
import { workspaceError } from './errors.js';

const folders = ['prompts', 'prompt', 'docs/AI'];
const singleFiles = ['docs/ai-tools.md'];
/** What an interrupted write may leave beside a file. */
const unfinished = /(?:^|\/)\.[^/]+\.[0-9a-f]{12}\.tmp$/;
/** What the file system answers when a path cannot name a file, or names a folder. */
const wrongPathCodes = ['EEXIST', 'EISDIR', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP'];

/** Whether a path names a file below the workspace: no empty or blank segment, `.`, `..`, backslash or control character. */
export function isPlainPath(path: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  return !/[\\\u0000-\u001f\u007f]/.test(path) && !path.split('/').some((part) => /^(?:|\.|\.\.)$/.test(part.trim()));
}

/** Prompt texts and tool guides in the workspace folder. */
export class TextFiles {
  readonly #files: WorkspaceFiles;
  readonly #single: ReadonlySet<string>;

  /**
   * @param guide path of the configured tool guide, absolute or from the workspace; blank for none. A guide outside the
   *   workspace is ignored.
   */
  constructor(files: WorkspaceFiles, workspaceDir: string, guide: string) {
    this.#files = files;
    const path = guide.trim() && pathBelow(workspaceDir, resolve(workspaceDir, guide.trim()));
    this.#single = new Set([...singleFiles, ...(path ? [path.replaceAll(sep, '/')] : [])]);
  }

  /** Whether a plain path is one of these files. */
  isOne(path: string): boolean {
    return this.#single.has(path) || folders.some((folder) => path.startsWith(`${folder}/`));
  }

  async list(): Promise<readonly { readonly path: string; readonly size: number }[]> {
    const found = await Promise.all(folders.map((folder) => this.#filesBelow(folder)));
    const paths = [...new Set([...this.#single, ...found.flat()])].filter((path) => !unfinished.test(path));
    const listed = await Promise.all(paths.map((path) => this.#sizeOf(path)));
    return listed.filter((one) => one !== undefined);
  }

  /** @throws not_found, invalid_path, unsupported_file */
  async read(path: string): Promise<string> {
    const real = await this.#locate(path, 'read');
    const facts = await stat(real).catch(() => undefined);
    if (!facts?.isFile()) throw workspaceError('not_found', { details: { path } });
    try {
      return (await this.#files.readText(real)).text;
    } catch (error) {
      if (!isCodedError(error))
        throw workspaceError('file_error', { message: 'the file could not be read', cause: error });
      throw workspaceError('unsupported_file', { details: { path, size: facts.size } });
    }
  }

  /** Content that a file may have. @throws invalid_ai_tools_guide */
  parse(content: unknown): string {
    const problem = typeof content === 'string' ? promptProblem(content) : 'is missing';
    if (typeof content === 'string' && problem === undefined) return content;
    const isMissing = typeof content !== 'string' || content.trim() === '';
    throw workspaceError('invalid_ai_tools_guide', isMissing ? {} : { message: `the text ${problem}` });
  }

  /**
   * Writes all files or none. Creates folders as needed.
   * @param contents by path
   * @param then runs when they are written; when it fails they get their old content back
   * @throws invalid_path, file_error, what `then` throws, the reason of an abort while the files are written
   */
  async write(
    contents: ReadonlyMap<string, string>,
    { then, signal }: { readonly then?: () => Promise<unknown>; readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    await this.#files.exclusive(async () => {
      const changes: FileChange[] = [];
      for (const [path, content] of contents) {
        const real = await this.#locate(path, 'write');
        if ((await stat(real).catch(() => undefined))?.isFile() === false) {
          throw workspaceError('invalid_path', { details: { path } });
        }
        changes.push({ real, content });
      }
      const undo = await this.#commit(changes, signal);
      try {
        await then?.();
      } catch (error) {
        await undo();
        throw error;
      }
    });
  }

  async #commit(changes: readonly FileChange[], signal: AbortSignal | undefined): Promise<() => Promise<void>> {
    try {
      return await this.#files.commit(changes, signal);
    } catch (error) {
      signal?.throwIfAborted();
      const isWrongPath = isCodedError(error) || wrongPathCodes.includes(String((error as NodeJS.ErrnoException).code));
      throw workspaceError(isWrongPath ? 'invalid_path' : 'file_error', { cause: error });
    }
  }

  /** The real path, which a link must not lead out of the workspace. @throws invalid_path */
  async #locate(path: string, access: 'read' | 'write'): Promise<string> {
    try {
      const real = await this.#files.locate(path, access);
      if (pathBelow(await this.#files.root(), real)) return real;
    } catch (error) {
      if (!isCodedError(error)) throw error;
    }
    throw workspaceError('invalid_path', { details: { path } });
  }

  async #sizeOf(path: string) {
    try {
      const facts = await stat(await this.#locate(path, 'read'));
      return facts.isFile() ? { path, size: facts.size } : undefined;
    } catch {
      return undefined;
    }
  }

  /** Paths from the workspace. A folder that is a link out of the workspace is not searched. */
  async #filesBelow(folder: string): Promise<readonly string[]> {
    try {
      const real = await this.#locate(folder, 'read');
      const entries = await readdir(real, { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => !entry.isDirectory())
        .map((entry) => join(folder, relative(real, entry.parentPath), entry.name).replaceAll(sep, '/'));
    } catch {
      return [];
    }
  }
}
