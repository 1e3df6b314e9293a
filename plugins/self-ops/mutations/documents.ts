import { stat } from 'node:fs/promises';
import { relative, sep } from 'node:path';
import type { ModelSettings, ModelSettingsService } from 'mortise/contracts/models';
import { promptProblem } from 'mortise/contracts/prompts';
import type { WorkspaceFiles } from 'mortise/contracts/tool-files';
import { type CallContext, isCodedError, isJsonObject, type TransactionOption } from 'mortise/sdk';
import { invalidRequest, selfOpsError } from '../errors.js';
import { type AllowedPath, allowedPath } from './allowed-path.js';
import type { DocumentKind, Draft } from './mutation.js';

/** A document to write. */
export type Written = Pick<Draft, 'path' | 'kind' | 'after'>;

/** The documents that mutations read and write: files of the workspace and the settings of models. */
export class Documents {
  readonly #files: WorkspaceFiles;
  readonly #settings: ModelSettingsService;

  constructor(files: WorkspaceFiles, settings: ModelSettingsService) {
    this.#files = files;
    this.#settings = settings;
  }

  /** Runs one writer of files at a time. */
  exclusive<T>(run: () => Promise<T>): Promise<T> {
    return this.#files.exclusive(run);
  }

  /**
   * The content of a document, secrets in clear; undefined for a text file that does not exist.
   * @throws mutation_path_denied when a link leads to another place; invalid_request for a file that is not text
   */
  async read({ path, kind }: AllowedPath, options?: TransactionOption): Promise<unknown> {
    if (kind !== 'text') return documentOf(kind, await this.#settings.read(options));
    const real = await this.#locate(path);
    const facts = await stat(real).catch(() => undefined);
    if (!facts) return undefined;
    if (!facts.isFile()) throw invalidRequest('operation.path is not a file', { path });
    try {
      return (await this.#files.readText(real, 'write')).text;
    } catch (error) {
      if (isCodedError(error)) throw invalidRequest(error.message, { path });
      throw error;
    }
  }

  /**
   * What would be stored of changed settings: the active model too, when it loses its provider.
   * @throws the code of the first rule that is broken
   */
  async normalise(drafts: readonly Draft[]): Promise<readonly Draft[]> {
    const changed = settingsOf(drafts);
    if (Object.keys(changed).length === 0) return drafts;
    const stored = await this.#settings.read();
    const checked = await this.#settings.check(changed);
    const normal = drafts.map((draft) =>
      draft.kind === 'text' ? draft : { ...draft, after: documentOf(draft.kind, checked) },
    );
    if (changed.active !== undefined || checked.active !== undefined || stored.active === undefined) return normal;
    const active = {
      kind: 'active',
      before: documentOf('active', stored),
      after: documentOf('active', checked),
    } as const;
    return [...normal, { path: 'config/active-llm.json', ...active }];
  }

  /** Writes settings in the transaction, then all files or none. Call it within {@link exclusive}. */
  async write(written: readonly Written[], ctx: CallContext, options: TransactionOption): Promise<void> {
    const changed = settingsOf(written);
    if (Object.keys(changed).length > 0) await this.#settings.replace(changed, ctx, options);
    await this.writeFiles(written);
  }

  /** Writes the text files among the documents; undefined deletes one. */
  async writeFiles(written: readonly Written[]): Promise<void> {
    const texts = written.filter(({ kind }) => kind === 'text');
    const changes = await Promise.all(
      texts.map(async ({ path, after }) => ({
        real: await this.#locate(path),
        content: after === undefined ? null : String(after),
      })),
    );
    if (changes.length > 0) await this.#files.commit(changes);
  }

  /** The real path, which a link must not lead out of the folders that may be changed. */
  async #locate(path: string): Promise<string> {
    try {
      const real = await this.#files.locate(path, 'write');
      const below = relative(await this.#files.root(), real).replaceAll(sep, '/');
      if (allowedPath(encodeURIComponent(below))?.kind === 'text') return real;
    } catch (error) {
      if (!isCodedError(error)) throw error;
    }
    throw selfOpsError('mutation_path_denied', { details: { denied_paths: [path] } });
  }
}

function documentOf(kind: DocumentKind, { providers, active }: ModelSettings): unknown {
  if (kind === 'providers') return providers;
  return { provider_id: active?.providerId ?? '', model: active?.model ?? '' };
}

function settingsOf(written: readonly Written[]): { readonly providers?: unknown; readonly active?: unknown } {
  const providers = written.find(({ kind }) => kind === 'providers');
  const active = written.find(({ kind }) => kind === 'active');
  return {
    ...(providers ? { providers: providers.after } : {}),
    ...(active ? { active: active.after } : {}),
  };
}

/** Why a text would not be a prompt, or a value no document at all. */
export function structureProblem({ kind, after, path }: Draft): string | undefined {
  if (kind === 'text') {
    const text = String(after ?? '');
    if (text.trim() === '') return `${path} would be blank`;
    const problem = promptProblem(text);
    return problem && `${path} would not be a prompt: the text ${problem}`;
  }
  return isJsonObject(after) ? undefined : `${path} must be an object`;
}
