import { type Problem, problem } from '../messages/plugin-problems.js';
import { deepFreeze } from '../schema/index.js';
import type { PluginManifest } from '../sdk/manifest.js';
import { contributionId } from './contributions.js';
import { describeError } from './describe-error.js';
import { ownFile } from './own-file.js';
import { readJson } from './read-json.js';

/** Data that a manifest gives or points to, by `<point>:<canonical key>`. */
export type ManifestFacts = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/** Where the JSON Schema of a plugin's configuration is kept among its facts. */
export const configSchemaId = 'config:schema';

/** Reads the facts of contributions, of routes (which are their own facts), and the configuration's schema. */
export async function readManifestFacts(folder: string, manifest: PluginManifest): Promise<ManifestFacts | Problem> {
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
  if (path === undefined) return { why: 'it lies outside the plugin folder' };
  try {
    const value = await readJson(path);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return { why: 'it is not a JSON object' };
    return { value: value as Record<string, unknown> };
  } catch (error) {
    return { why: (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'it does not exist' : describeError(error) };
  }
}
