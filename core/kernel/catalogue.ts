import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { type Problem, problem } from '../messages/plugin-problems.js';
import type { ManifestContribution, PluginManifest } from '../sdk/manifest.js';
import { canonicalKey, pluginKeyPattern } from '../sdk/points/point.js';
import { describeError } from './describe-error.js';

export type PluginSource = 'first-party' | 'local' | 'npm';

/** A plugin as its folder describes it; nothing of its code has run. */
export interface CatalogueEntry {
  readonly key: string;
  readonly source: PluginSource;
  /** Holds plugin.json and the plugin's facts. */
  readonly folder: string;
  /** Absolute path of the code, when the manifest could be read. */
  readonly entry: string | null;
  readonly manifest: PluginManifest | null;
  /** Facts that the manifest gives, by `<point>:<canonical key>`. */
  readonly facts: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  readonly problem: Problem | null;
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
  return markDuplicates(entries.sort((a, b) => (a.key < b.key ? -1 : 1)));
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
    text = await readFile(join(folder, 'plugin.json'), 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return broken(problem('manifest_unreadable', shown, code === 'ENOENT' ? 'there is none' : describeError(error)));
  }
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    return broken(problem('manifest_not_json', shown, describeError(error)));
  }
  const errors = check(value);
  if (errors.length > 0) return broken(problem('manifest_invalid', shown, errors));
  const manifest = value as PluginManifest;
  if (canonicalKey(manifest.key) !== canonicalKey(name))
    return broken(problem('manifest_key_mismatch', name, manifest.key));
  const facts = await readFacts(folder, manifest);
  if ('code' in facts) return broken(facts, manifest);
  const codeFolder = parent.codePath ? join(parent.codePath, name) : folder;
  const entry = resolve(codeFolder, manifest.entry ?? 'index.js');
  const inside = relative(codeFolder, entry);
  if (inside.startsWith('..') || isAbsolute(inside))
    return broken(problem('entry_outside', manifest.entry ?? 'index.js'), manifest);
  return { key: manifest.key, source: parent.source, folder, entry, manifest, facts, problem: null };
}

/** Facts given inline or in files, by `<point>:<canonical key>`; routes are their own facts. */
async function readFacts(
  folder: string,
  manifest: PluginManifest,
): Promise<Map<string, Readonly<Record<string, unknown>>> | Problem> {
  const facts = new Map<string, Readonly<Record<string, unknown>>>();
  for (const [point, contributions] of Object.entries(manifest.contributes ?? {})) {
    for (const contribution of contributions) {
      if (typeof contribution === 'string') continue;
      const given = contribution.facts;
      if (typeof given !== 'string') {
        facts.set(contributionId(point, contribution.key), given);
        continue;
      }
      const path = resolve(folder, given);
      if (relative(folder, path).startsWith('..'))
        return problem('manifest_facts', given, 'it lies outside the plugin folder');
      try {
        const value: unknown = JSON.parse(await readFile(path, 'utf8'));
        if (typeof value !== 'object' || value === null || Array.isArray(value))
          throw new Error('it is not a JSON object');
        facts.set(contributionId(point, contribution.key), value as Record<string, unknown>);
      } catch (error) {
        return problem('manifest_facts', given, describeError(error));
      }
    }
  }
  for (const route of manifest.permissions?.routes ?? []) facts.set(contributionId('route', route.name), { ...route });
  return facts;
}

function markDuplicates(entries: readonly CatalogueEntry[]): CatalogueEntry[] {
  const byKey = Map.groupBy(entries, (entry) => canonicalKey(entry.key));
  return entries.flatMap((entry) => {
    const same = byKey.get(canonicalKey(entry.key)) ?? [];
    if (same.length === 1) return [entry];
    // One row per key: the first one carries the problem.
    if (same[0] !== entry) return [];
    return [
      {
        ...entry,
        problem: problem(
          'duplicate_plugin',
          entry.key,
          same.map((one) => `${one.source}/${one.key}`),
        ),
      },
    ];
  });
}

/** What identifies a contribution: `tool:web-search` for both `web-search` and `web_search`. */
export function contributionId(point: string, key: string): string {
  return `${point}:${canonicalKey(key)}`;
}

export function contributionKey(contribution: ManifestContribution): string {
  return typeof contribution === 'string' ? contribution : contribution.key;
}

/** All that a manifest says it adds: contributions of every point, its routes among them. */
export function declaredContributions(
  manifest: PluginManifest,
): readonly { readonly point: string; readonly key: string }[] {
  const declared = Object.entries(manifest.contributes ?? {}).flatMap(([point, keys]) =>
    keys.map((contribution) => ({ point, key: contributionKey(contribution) })),
  );
  const routes = (manifest.permissions?.routes ?? []).map((route) => ({ point: 'route', key: route.name }));
  return [...declared, ...routes];
}

export function isPluginKey(key: string): boolean {
  return key.length <= 64 && pluginKeyPattern.test(key);
}
