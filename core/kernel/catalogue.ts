import { existsSync } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { type Problem, problem } from '../messages/plugin-problems.js';
import type { PluginManifest } from '../sdk/manifest.js';
import { canonicalKey } from '../sdk/points/point.js';
import { describeError } from './describe-error.js';
import { type ManifestFacts, readManifestFacts } from './manifest-facts.js';
import { ownFile } from './own-file.js';
import { parseJson, readSmallFile } from './read-json.js';

export { contributionId } from './contributions.js';

export type PluginSource = 'first-party' | 'local' | 'npm';

/** A plugin as its folder describes it; nothing of its code has run. */
export interface CatalogueEntry {
  readonly key: string;
  readonly source: PluginSource;
  /** Holds plugin.json and the plugin's facts. */
  readonly folder: string;
  /** Real path of the folder that holds its code: what a line of a stack is held against. */
  readonly codeFolder?: string;
  /** Absolute path of the code, when the manifest could be read. */
  readonly entry: string | null;
  readonly manifest: PluginManifest | null;
  readonly facts: ManifestFacts;
  readonly problem: Problem | null;
  /** Other folders with the same key, which are left aside because this one is shipped with the platform. */
  readonly setAside?: readonly string[];
  /** Loads the code another way than from `entry`: plugins that a test makes in memory. */
  readonly load?: () => Promise<unknown>;
}

export interface PluginFolder {
  readonly path: string;
  readonly source: PluginSource;
  /** Where the compiled code of `path/<key>` lies; the plugin folder itself when absent. */
  readonly codePath?: string;
}

export type ManifestCheck = (value: unknown) => readonly { readonly path: string; readonly message: string }[];

/** Reads every plugin folder. A folder that cannot be used becomes an entry with a problem, never an exception. */
export async function readCatalogue(folders: readonly PluginFolder[], check: ManifestCheck): Promise<CatalogueEntry[]> {
  const entries: CatalogueEntry[] = [];
  for (const folder of folders) {
    const names = await readdir(folder.path, { withFileTypes: true }).catch(() => []);
    const found = await Promise.all(
      names
        // A package without a plugin.json is no plugin.
        .filter((item) => folder.source !== 'npm' || existsSync(join(folder.path, item.name, 'plugin.json')))
        .filter(
          (item) =>
            (item.isDirectory() || item.isSymbolicLink()) && !item.name.startsWith('.') && item.name !== 'node_modules',
        )
        .map((item) => readEntry(folder, item.name, check)),
    );
    entries.push(...found);
  }
  return onePerKey(entries.sort((a, b) => (a.key < b.key ? -1 : 1)));
}

async function readEntry(parent: PluginFolder, name: string, check: ManifestCheck): Promise<CatalogueEntry> {
  const folder = join(parent.path, name);
  const shown = `${name}/plugin.json`;
  const broken = (found: Problem, manifest: PluginManifest | null = null): CatalogueEntry => ({
    key: name,
    source: parent.source,
    folder,
    entry: null,
    manifest,
    facts: new Map(),
    problem: found,
  });
  let text: string;
  try {
    text = await readSmallFile(join(folder, 'plugin.json'));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return broken(problem('manifest_unreadable', shown, code === 'ENOENT' ? 'there is none' : describeError(error)));
  }
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    return broken(problem('manifest_not_json', shown, describeError(error)));
  }
  const errors = check(value);
  if (errors.length > 0) return broken(problem('manifest_invalid', shown, errors));
  const manifest = value as PluginManifest;
  if (canonicalKey(manifest.key) !== canonicalKey(name))
    return broken(problem('manifest_key_mismatch', name, manifest.key));
  const facts = await readManifestFacts(folder, manifest);
  if ('code' in facts) return broken(facts, manifest);
  const ownCode = parent.codePath ? join(parent.codePath, name) : folder;
  const entry = await ownFile(ownCode, manifest.entry ?? 'index.js');
  if (entry === undefined) return broken(problem('entry_outside', manifest.entry ?? 'index.js'), manifest);
  const codeFolder = await realpath(ownCode).catch(() => ownCode);
  return { key: manifest.key, source: parent.source, folder, codeFolder, entry, manifest, facts, problem: null };
}

/**
 * One row per key. A shipped plugin stays when a folder with its key is dropped in beside it, so that nobody puts it out
 * by accident; else nobody can say which of them is meant, and none is started.
 */
function onePerKey(entries: readonly CatalogueEntry[]): CatalogueEntry[] {
  return [...Map.groupBy(entries, (entry) => canonicalKey(entry.key)).values()].flatMap((same) => {
    const [first] = same;
    if (!first || same.length === 1) return same;
    const shipped = same.filter((entry) => entry.source === 'first-party');
    const [only] = shipped;
    const named = (list: readonly CatalogueEntry[]): string[] => list.map((one) => `${one.source}/${one.key}`);
    return only && shipped.length === 1
      ? [{ ...only, setAside: named(same.filter((entry) => entry !== only)) }]
      : [{ ...first, problem: problem('duplicate_plugin', first.key, named(same)) }];
  });
}
