import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { writeAtomic } from '../files/index.js';
import type { EventBus } from '../kernel/event-bus.js';
import type { Logger } from '../sdk/context.js';
import type { PlatformChange } from '../sdk/events.js';
import { isJsonObject } from '../sdk/json.js';
import { serialQueue } from '../sdk/timing.js';
import type { Desired, FileWrite, HostSettings, PluginsFile } from '../settings/types.js';

/** A file that was changed by hand. */
interface FileEdit {
  /** Relative name: `config/gate.json`. */
  readonly file: string;
  /** Plugins whose part of it changed. */
  readonly plugins: readonly string[];
}

export type SeenFilesOptions = Pick<HostSettings, 'dataDir' | 'configDir' | 'pluginsFile'>;

/** Names of configuration files that belong to no plugin. */
const hostFiles: ReadonlySet<string> = new Set(['mortise', 'secrets']);

/** Hashes of a file's parts by plugin; the part of none has the key ''. */
type Parts = Readonly<Record<string, string>>;

/** By {@link FileEdit.file}. */
type Seen = Readonly<Record<string, Parts>>;

/** Remembers the state of the files that people edit: a change that the platform did not make itself is an edit. */
export class SeenFiles {
  readonly #options: SeenFilesOptions;
  readonly #record: string;
  readonly #serially = serialQueue();

  constructor(options: SeenFilesOptions) {
    this.#options = options;
    this.#record = join(options.dataDir, 'seen-files.json');
  }

  /** Edits since the files were seen last; `take` marks them as seen. The first look finds none. */
  async look(): Promise<{ readonly edits: readonly FileEdit[]; readonly take: () => Promise<void> }> {
    const before = await this.#seen();
    const now = await this.#present();
    if (!before) await this.#change(() => now).catch(() => undefined);
    return {
      edits: before ? editsBetween(before, now) : [],
      take: () => this.#change((seen) => ({ ...now, ...knownSince(before ?? now, seen) })),
    };
  }

  /** Marks the present state of a file as seen, after all its edits were reported. */
  async knowAll(path: string): Promise<void> {
    if (!this.#isWatched(path)) return;
    await this.#change(async (seen) => seen && { ...seen, [this.#nameOf(path)]: await this.#parts(path) });
  }

  /** Marks as seen what the platform itself changed in a file: edits that were not reported yet stay unseen. */
  async know({ path, before }: FileWrite): Promise<void> {
    if (!this.#isWatched(path)) return;
    const name = this.#nameOf(path);
    const was = before === undefined ? {} : this.#partsOf(path, before);
    const is = await this.#parts(path);
    await this.#change((seen) => {
      if (!seen) return undefined;
      const known: Record<string, string | undefined> = { ...seen[name] };
      for (const part of Object.keys({ ...was, ...is })) {
        if (was[part] !== is[part] && known[part] === was[part]) known[part] = is[part];
      }
      const present = Object.entries(known).filter((entry): entry is [string, string] => entry[1] !== undefined);
      return { ...seen, [name]: Object.fromEntries(present) };
    });
  }

  /** Resolves when nothing is being written any more. */
  async settled(): Promise<void> {
    await this.#serially(async () => undefined);
  }

  async #present(): Promise<Seen> {
    const { configDir, pluginsFile } = this.#options;
    const names = (await readdir(configDir).catch(() => [])).filter((name) => name.endsWith('.json'));
    const paths = [pluginsFile, ...names.map((name) => join(configDir, name))];
    const read = paths.map(async (path) => [this.#nameOf(path), await this.#parts(path)] as const);
    return Object.fromEntries(await Promise.all(read));
  }

  #nameOf(path: string): string {
    return path === this.#options.pluginsFile ? basename(path) : `config/${basename(path)}`;
  }

  async #parts(path: string): Promise<Parts> {
    const text = await readFile(path, 'utf8').catch(() => undefined);
    return text === undefined ? {} : this.#partsOf(path, text);
  }

  #isWatched(path: string): boolean {
    return path === this.#options.pluginsFile || dirname(path) === this.#options.configDir;
  }

  #partsOf(path: string, text: string): Parts {
    if (path === this.#options.pluginsFile) return pluginParts(text);
    const owner = basename(path, '.json');
    return { [hostFiles.has(owner) ? '' : owner]: hashOf(text) };
  }

  async #seen(): Promise<Seen | undefined> {
    const text = await readFile(this.#record, 'utf8').catch(() => undefined);
    return text === undefined ? undefined : (objectOf(text) as Seen | undefined);
  }

  #change(change: (seen: Seen | undefined) => Seen | undefined | Promise<Seen | undefined>): Promise<void> {
    return this.#serially(async () => {
      const seen = await this.#seen();
      const next = await change(seen);
      if (!next || isDeepStrictEqual(next, seen)) return;
      await writeAtomic(this.#record, `${JSON.stringify(next, null, 2)}\n`, 0o600);
    });
  }
}

function knownSince(before: Seen, seen: Seen = {}): Seen {
  return Object.fromEntries(Object.entries(seen).filter(([file, parts]) => !isDeepStrictEqual(parts, before[file])));
}

function editsBetween(before: Seen, now: Seen): readonly FileEdit[] {
  return [...new Set([...Object.keys(before), ...Object.keys(now)])].sort().flatMap((file) => {
    const [was, is] = [before[file] ?? {}, now[file] ?? {}];
    const changed = Object.keys({ ...was, ...is }).filter((part) => was[part] !== is[part]);
    return changed.length === 0 ? [] : [{ file, plugins: changed.filter((part) => part !== '').sort() }];
  });
}

/** A file that is not JSON is one part. */
function pluginParts(text: string): Parts {
  const written = objectOf(text);
  if (!written) return { '': hashOf(text) };
  const { plugins, bindings = {}, renamed = {} } = written;
  const parts = isJsonObject(plugins) ? Object.entries(plugins) : [];
  return { '': hashOf([bindings, renamed]), ...Object.fromEntries(parts.map(([key, part]) => [key, hashOf(part)])) };
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reports files that were edited since a server last ran. Edits that no plugin recorded are reported at the next start.
 *
 * @param look taken before the plugins started, because some of them write to their files
 */
export async function reportOfflineEdits(
  { edits, take }: Awaited<ReturnType<SeenFiles['look']>>,
  events: EventBus,
  log: Logger,
): Promise<void> {
  if (edits.length > 0) {
    const changes = edits.map(
      ({ file, plugins }): PlatformChange => ({
        operation: 'edit_file',
        target: file,
        source: 'file',
        details: { file, plugins },
      }),
    );
    if (!(await recordChanges(events, changes, log))) return;
    log.info({ edits }, 'files were edited since a server last ran');
  }
  await take().catch((error: unknown) => log.warn({ err: error }, 'seen files could not be saved'));
}

/** Emits an event for each edit of `plugins.json` while the server runs, and marks it as seen once a plugin has recorded it. */
export function reportEdits(file: PluginsFile, seen: SeenFiles, events: EventBus, log: Logger): void {
  file.onEdit((next, previous) => {
    void recordChanges(events, editsOf(next, previous, basename(file.file)), log)
      .then((recorded) => (recorded ? seen.knowAll(file.file) : undefined))
      .catch((error: unknown) => log.warn({ err: error }, 'seen files could not be saved'));
  });
}

/** A change per plugin that was enabled or disabled, and one for everything else in the file. */
function editsOf(next: Desired, previous: Desired, file: string): readonly PlatformChange[] {
  const keys = Object.keys({ ...previous.plugins, ...next.plugins });
  const isOn = (state: Desired, key: string): boolean => state.plugins[key]?.enabled === true;
  const toggled = keys.filter((key) => isOn(next, key) !== isOn(previous, key));
  const others = keys.filter(
    (key) => !toggled.includes(key) && !isDeepStrictEqual(next.plugins[key], previous.plugins[key]),
  );
  const isRest =
    !isDeepStrictEqual([next.bindings, next.renamed], [previous.bindings, previous.renamed]) || others.length > 0;
  return [
    ...toggled.map(
      (key): PlatformChange => ({
        operation: isOn(next, key) ? 'enable' : 'disable',
        target: key,
        source: 'file',
        details: { plugin: key },
      }),
    ),
    ...(isRest
      ? [{ operation: 'edit_file', target: file, source: 'file', details: { file, plugins: others } } as const]
      : []),
  ];
}

/** @returns whether a plugin recorded the changes and none failed to */
async function recordChanges(events: EventBus, changes: readonly PlatformChange[], log: Logger): Promise<boolean> {
  const { listeners, errors } = await events.emitAwaited('platform-changed', { changes });
  for (const error of errors) log.warn({ err: error, changes }, 'a change was not recorded');
  return listeners > 0 && errors.length === 0;
}
