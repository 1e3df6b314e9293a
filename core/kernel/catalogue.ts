import { existsSync } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { confine, parseJson, readSmallFile } from '../files/index.js';
import { describeError } from '../messages/plugin-problem.js';
import { type Problem, problem } from '../messages/plugin-problems.js';
import { deepFreeze } from '../schema/index.js';
import { isJsonObject } from '../sdk/json.js';
import type { PluginManifest } from '../sdk/manifest.js';
import { canonicalKey } from '../sdk/points/point.js';
import { contributionId } from './extension-points.js';

type PluginSource = 'first-party' | 'local' | 'npm';

/** A plugin as its folder describes it; nothing of its code has run. */
export interface CatalogueEntry {
  readonly key: string;
  readonly source: PluginSource;
  /** Holds plugin.json and the plugin's facts. */
  readonly folder: string;
  /** Real path of the folder that holds its code, as stacks show it. */
  readonly codeFolder?: string;
  /** Absolute path of the code, when the manifest could be read. */
  readonly entry: string | null;
  readonly manifest: PluginManifest | null;
  readonly facts: ManifestFacts;
  readonly problem: Problem | null;
  /** Other folders with the same key, which are ignored because this one is shipped with the platform. */
  readonly setAside?: readonly string[];
  /** Loads the code instead of importing `entry`: for plugins that a test makes in memory. */
  readonly load?: () => Promise<unknown>;
}

export interface PluginFolder {
  readonly path: string;
  readonly source: PluginSource;
  /** Where the compiled code of `path/<key>` is; the plugin folder itself when absent. */
  readonly codePath?: string;
}

type ManifestCheck = (value: unknown) => readonly { readonly path: string; readonly message: string }[];

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
    entries.push(...found.filter((entry) => entry !== undefined));
  }
  return onePerKey(entries.sort((a, b) => (a.key < b.key ? -1 : 1)));
}

/** Undefined for a folder that is no plugin: only the contract of a deleted one is left, which others still import. */
async function readEntry(
  parent: PluginFolder,
  name: string,
  check: ManifestCheck,
): Promise<CatalogueEntry | undefined> {
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
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT';
    if (isAbsent && (await holdsOnlyContract(folder))) return undefined;
    return broken(problem('manifest_unreadable', shown, isAbsent ? 'there is none' : describeError(error)));
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

async function holdsOnlyContract(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch(() => []);
  return names.length === 1 && names[0] === 'contract';
}

/**
 * One row per key. A shipped plugin wins over dropped-in folders with its key; among others it is unclear which one is
 * meant, so none is started.
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

/** Data that a manifest gives or points to, by `<point>:<canonical key>`. */
type ManifestFacts = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/** The id of the configuration's JSON Schema among the facts. */
export const configSchemaId = 'config:schema';

/** Reads the facts of contributions, of routes (which are their own facts), and the configuration's schema. */
async function readManifestFacts(folder: string, manifest: PluginManifest): Promise<ManifestFacts | Problem> {
  const facts = new Map<string, Readonly<Record<string, unknown>>>();
  for (const [point, contributions] of Object.entries(manifest.contributes ?? {})) {
    for (const contribution of contributions) {
      if (typeof contribution === 'string') continue;
      const given = contribution.facts;
      const found = typeof given === 'string' ? await readObject(folder, given) : { value: given };
      if ('why' in found) return problem('manifest_facts', String(given), found.why);
      facts.set(contributionId(point, contribution.key), deepFreeze(found.value));
    }
  }
  for (const route of manifest.permissions?.routes ?? [])
    facts.set(contributionId('route', route.name), deepFreeze({ ...route }));
  if (manifest.config !== undefined) {
    const schema = await readObject(folder, manifest.config);
    if ('why' in schema) return problem('config_schema', manifest.config, schema.why);
    facts.set(configSchemaId, schema.value);
  }
  return facts;
}

async function readObject(
  folder: string,
  name: string,
): Promise<{ readonly value: Readonly<Record<string, unknown>> } | { readonly why: string }> {
  const path = await ownFile(folder, name);
  if (path === undefined) return { why: 'it is outside the plugin folder' };
  try {
    const value = parseJson(await readSmallFile(path));
    return isJsonObject(value) ? { value } : { why: 'it is not a JSON object' };
  } catch (error) {
    return { why: (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'it does not exist' : describeError(error) };
  }
}

/** The real path of a plugin's own file; undefined when it is outside the folder, by its name or through a link. */
export function ownFile(folder: string, name: string): Promise<string | undefined> {
  return confine(folder, name).catch(() => undefined);
}
