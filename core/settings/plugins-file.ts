import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { writeAtomic } from '../files/index.js';
import {
  type CompiledSchema,
  createSchemaCompiler,
  deepFreeze,
  isTooDeep,
  loadSchema,
  maxFileDepth,
} from '../schema/index.js';
import { makeFolders } from '../sdk/folders.js';
import { type Disposable, type Finding, MortiseError } from '../sdk/index.js';
import { canonicalKey } from '../sdk/points/point.js';
import { serialQueue } from '../sdk/timing.js';
import { shownPath } from './environment.js';
import { sayUnwritten } from './problems.js';
import type { Desired, PluginsFile, Settings } from './types.js';
import { type FileContent, WatchedFile } from './watched-file.js';

export interface PluginsFileOptions {
  readonly file: string;
  /** Holds the last good copy. */
  readonly dataDir: string;
  readonly settings: Settings;
  readonly now?: () => number;
}

/** The file after validation. */
type Written = Pick<Desired, 'version' | 'plugins'> &
  Partial<Omit<Desired, 'version' | 'plugins'>> & { readonly $schema?: string };

type Read =
  | { readonly ok: true; readonly state: Desired; readonly $schema: string | undefined }
  | { readonly ok: false; readonly why: string };

/** A file that was named explicitly must exist. */
const fileVariable = 'MORTISE_PLUGINS_FILE';

const empty: Desired = deepFreeze({ version: 1, revision: 0, plugins: {}, bindings: {}, renamed: {} });

function sameKeyTwice(plugins: Readonly<Record<string, unknown>>): string | undefined {
  const seen = new Set<string>();
  for (const key of Object.keys(plugins)) {
    if (seen.has(canonicalKey(key))) return key;
    seen.add(canonicalKey(key));
  }
  return undefined;
}

function withoutRevision({ revision: _, ...rest }: Desired): object {
  return rest;
}

/** Reads the file, or its last good copy, and keeps watching it with the settings' files. */
export async function openPluginsFile(options: PluginsFileOptions): Promise<PluginsFile> {
  const schema = await loadSchema(options.settings.host.projectDir, 'plugins');
  const compiled = createSchemaCompiler().compile<Written>(schema, { name: 'plugins.schema.json', use: 'parse' });
  const store = new StoredPlugins(options, compiled);
  await store.open();
  return store;
}

class StoredPlugins implements PluginsFile {
  readonly file: string;
  current: Desired = empty;
  source: PluginsFile['source'] = 'empty';
  problem: Finding | null = null;
  readonly #compiled: CompiledSchema<Written>;
  readonly #settings: Settings;
  readonly #shown: string;
  readonly #dataDir: string;
  readonly #lastGood: string;
  readonly #watched: WatchedFile;
  readonly #listeners = new Set<(next: Desired, previous: Desired) => void>();
  readonly #editListeners = new Set<(next: Desired, previous: Desired) => void>();
  #watching: Disposable | undefined;
  readonly #serially = serialQueue();
  #schemaName: string | undefined;
  #refused: string | undefined;
  #copyProblem: Finding | null = null;

  constructor(options: PluginsFileOptions, compiled: CompiledSchema<Written>) {
    this.file = options.file;
    this.#settings = options.settings;
    this.#compiled = compiled;
    this.#dataDir = options.dataDir;
    this.#lastGood = join(options.dataDir, 'plugins.last-good.json');
    this.#shown = shownPath(options.settings.host.projectDir, options.file);
    this.#watched = new WatchedFile(options.file, options.now ?? Date.now);
  }

  async open(): Promise<void> {
    const content = await this.#watched.look(true);
    const read = content === undefined || content.kind === 'absent' ? undefined : this.#read(content);
    if (read?.ok) {
      await this.#adopt(read.state, read.$schema);
    } else {
      const copy = await this.#readCopy();
      if (copy !== undefined) {
        this.current = copy;
        this.source = 'last-good';
      }
      if (read !== undefined) this.#report(read.why, content);
      else if (copy !== undefined) this.#report('does not exist', content);
      else if (this.#settings.variable(fileVariable) !== undefined)
        this.#report(`does not exist, and ${fileVariable} names it`, content);
    }
    this.#watching = this.#settings.also({
      poll: () =>
        this.#serially(async () => {
          if (this.#copyProblem !== null) await this.#keepCopy();
          return this.#look(false);
        }),
      findings: () => [this.problem, this.#copyProblem].filter((found) => found !== null),
    });
  }

  subscribe(run: (next: Desired, previous: Desired) => void): Disposable {
    this.#listeners.add(run);
    return { dispose: () => void this.#listeners.delete(run) };
  }

  onEdit(run: (next: Desired, previous: Desired) => void): Disposable {
    this.#editListeners.add(run);
    return { dispose: () => void this.#editListeners.delete(run) };
  }

  reload(): Promise<boolean> {
    return this.#serially(() => this.#look(true));
  }

  write(change: (current: Desired) => Desired, options: { readonly revision?: number } = {}): Promise<Desired> {
    return this.#serially(async () => {
      // An edit that was just saved is read first: a toggle must not undo it.
      await this.#look(true);
      const { current } = this;
      // Otherwise the file would contain only the change, and its author's choice of plugins would be lost.
      if (this.source === 'empty' && this.#refused !== undefined && this.problem !== null) {
        const { code, message, fix } = this.problem;
        throw new MortiseError(code, message, { status: 409, hint: fix });
      }
      if (options.revision !== undefined && options.revision !== current.revision) {
        throw new MortiseError(
          'revision_conflict',
          `The plugins are at revision ${current.revision}, not ${options.revision}: someone changed them meanwhile.`,
          { status: 409, details: { revision: current.revision }, hint: 'Read the state again and repeat the change.' },
        );
      }
      const wanted = change(current);
      if (isDeepStrictEqual(withoutRevision(wanted), withoutRevision(current)) && this.problem === null) return current;
      const next: Desired = { ...wanted, revision: current.revision + 1 };
      const text = this.#textOf(next);
      const read = this.#parse(text);
      if (!read.ok) {
        throw new MortiseError('invalid_plugins_file', `The change cannot be stored: ${read.why}.`, { status: 422 });
      }
      const refused = this.#refused;
      const before = await readFile(this.file, 'utf8').catch(() => undefined);
      await sayUnwritten(this.#shown, async () => {
        if (refused !== undefined) await this.#keepRefused(refused);
        makeFolders(dirname(this.file));
        await writeAtomic(this.file, text);
      });
      this.#settings.wrote({ path: this.file, before });
      await this.#watched.look(true);
      await this.#adopt(read.state, read.$schema);
      return this.current;
    });
  }

  dispose(): void {
    void this.#watching?.dispose();
    this.#listeners.clear();
    this.#editListeners.clear();
  }

  async #look(force: boolean): Promise<boolean> {
    const content = await this.#watched.look(force);
    if (content === undefined) return false;
    if (content.kind === 'absent') {
      this.#report('does not exist any more', content);
      return false;
    }
    const read = this.#read(content);
    if (!read.ok) {
      this.#report(read.why, content);
      return false;
    }
    const before = this.current;
    const changed = !isDeepStrictEqual(withoutRevision(read.state), withoutRevision(before));
    // Edits rarely raise the revision; a caller with the old one must still get the conflict.
    const revision = changed
      ? Math.max(read.state.revision, before.revision + 1)
      : Math.max(read.state.revision, before.revision);
    await this.#adopt({ ...read.state, revision }, read.$schema);
    if (changed) for (const listener of [...this.#editListeners]) listener(this.current, before);
    return changed;
  }

  #read(content: Exclude<FileContent, { kind: 'absent' }>): Read {
    return content.kind === 'text' ? this.#parse(content.text) : { ok: false, why: content.reason };
  }

  #parse(text: string): Read {
    if (isTooDeep(text)) return { ok: false, why: `is nested deeper than ${maxFileDepth} levels` };
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return { ok: false, why: 'is not valid JSON' };
    }
    const result = this.#compiled.parse(value);
    if (!result.ok) {
      const [first] = result.errors;
      return { ok: false, why: `is not valid: ${first?.path === '' ? 'it' : first?.path} ${first?.message}` };
    }
    const twice = sameKeyTwice(result.value.plugins);
    if (twice !== undefined) return { ok: false, why: `names the plugin ${twice} twice ("-" and "_" are the same)` };
    const { $schema, revision = 0, bindings = {}, renamed = {}, plugins } = result.value;
    return { ok: true, state: { version: 1, revision, plugins, bindings, renamed }, $schema };
  }

  #textOf(state: Desired): string {
    const written = {
      ...(this.#schemaName === undefined ? {} : { $schema: this.#schemaName }),
      version: state.version,
      revision: state.revision,
      plugins: state.plugins,
      ...(Object.keys(state.bindings).length === 0 ? {} : { bindings: state.bindings }),
      ...(Object.keys(state.renamed).length === 0 ? {} : { renamed: state.renamed }),
    };
    return `${JSON.stringify(written, null, 2)}\n`;
  }

  async #adopt(state: Desired, $schema: string | undefined): Promise<void> {
    const previous = this.current;
    this.#schemaName = $schema;
    this.current = deepFreeze(state);
    this.source = 'file';
    this.problem = null;
    this.#refused = undefined;
    await this.#keepCopy();
    if (isDeepStrictEqual(state, previous)) return;
    for (const listener of [...this.#listeners]) listener(this.current, previous);
  }

  /** The copy is for the next start: if it cannot be written, the change is still made. */
  async #keepCopy(): Promise<void> {
    const text = this.#textOf(this.current);
    const kept = await readFile(this.#lastGood, 'utf8').catch(() => undefined);
    try {
      if (kept !== text) {
        makeFolders(this.#dataDir, 0o700);
        await writeAtomic(this.#lastGood, text, 0o600);
      }
      this.#copyProblem = null;
    } catch (error) {
      if (this.#copyProblem === null) this.#reportCopy(error);
    }
  }

  #reportCopy(error: unknown): void {
    const why = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    const code = 'plugins_copy_failed';
    const message = `The last good copy of ${this.#shown} could not be written (${why}).`;
    this.#copyProblem = {
      severity: 'warning',
      code,
      message,
      fix: `Check whether the data directory is full or read-only; until then a start with a broken ${this.#shown} uses an older copy.`,
    };
    this.#settings.raise({ source: 'settings:plugins.json', severity: 'medium', code, message });
  }

  async #readCopy(): Promise<Desired | undefined> {
    const text = await readFile(this.#lastGood, 'utf8').catch(() => undefined);
    const read = text === undefined ? undefined : this.#parse(text);
    return read?.ok ? deepFreeze(read.state) : undefined;
  }

  /** A broken file may contain manual edits: it is saved before a change replaces it. */
  async #keepRefused(text: string): Promise<void> {
    const kept = join(this.#dataDir, 'plugins.refused.json');
    makeFolders(this.#dataDir, 0o700);
    await writeAtomic(kept, text, 0o600);
    const message = `A change of plugins has replaced ${this.#shown}, which could not be read; its text is in ${shownPath(this.#settings.host.projectDir, kept)}.`;
    this.#settings.raise({
      source: 'settings:plugins.json',
      severity: 'medium',
      code: 'plugins_file_replaced',
      message,
    });
  }

  #report(why: string, content: FileContent | undefined): void {
    const kept = this.source === 'empty' ? 'No plugin is enabled.' : 'The plugins stay as in its last good copy.';
    const message = `${this.#shown} ${why}. ${kept}`;
    const sha256 = content === undefined || content.kind === 'absent' ? null : content.sha256;
    this.#refused = content?.kind === 'text' ? content.text : undefined;
    const fix =
      content?.kind === 'absent' ? `Make ${this.#shown}, or correct ${fileVariable}` : `Correct ${this.#shown}`;
    this.problem = {
      severity: 'error',
      code: 'plugins_file_invalid',
      message,
      fix: `${fix}; it is read again automatically.`,
    };
    this.#settings.raise({
      source: 'settings:plugins.json',
      severity: 'high',
      code: 'plugins_file_invalid',
      message,
      data: { file: this.#shown, sha256 },
    });
  }
}
