import { createHash } from 'node:crypto';
import { access, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { problem } from '../messages/plugin-problems.js';
import type { PluginDefinition } from '../sdk/plugin.js';
import { canonicalKey } from '../sdk/points/point.js';
import { runMarked } from './attribution.js';
import type { CatalogueEntry } from './catalogue.js';
import { describeError } from './describe-error.js';
import { PluginProblem } from './plugin-problem.js';
import { withTimeLimit } from './time-limit.js';

/**
 * Loads the module of a plugin and makes its definition. A file that failed to parse would fail again at the same
 * address after it was mended, so dropped-in code is loaded under an address that carries its content.
 *
 * @throws PluginProblem
 */
export async function loadDefinition(entry: CatalogueEntry, timeoutMs: number): Promise<PluginDefinition> {
  const mark = { plugin: entry.key };
  let loaded: unknown;
  try {
    loaded = await withTimeLimit(
      runMarked(mark, () => (entry.load ? entry.load() : importEntry(entry))),
      timeoutMs,
      () => new PluginProblem(problem('import_timeout', timeoutMs)),
    );
  } catch (error) {
    if (error instanceof PluginProblem) throw error;
    throw new PluginProblem(problem('import_failed', describeError(error)), error);
  }
  const factory = (loaded as { default?: unknown } | null)?.default;
  if (typeof factory !== 'function') {
    throw new PluginProblem(
      problem('export_invalid', factory === undefined ? 'it has no default export' : `it is ${kindOf(factory)}`),
    );
  }
  let definition: unknown;
  try {
    definition = runMarked(mark, () => (factory as () => unknown)());
  } catch (error) {
    throw new PluginProblem(problem('export_invalid', `it threw: ${describeError(error)}`), error);
  }
  return checkDefinition(entry, definition);
}

async function importEntry(entry: CatalogueEntry): Promise<unknown> {
  const file = entry.entry ?? '';
  await access(file).catch(() => {
    throw new PluginProblem(problem('entry_missing', basename(file)));
  });
  const url = pathToFileURL(file);
  if (entry.source === 'local')
    url.searchParams.set(
      'v',
      createHash('sha256')
        .update(await readFile(file))
        .digest('hex')
        .slice(0, 16),
    );
  return import(url.href);
}

function checkDefinition(entry: CatalogueEntry, value: unknown): PluginDefinition {
  const wrong = (why: string): PluginProblem => new PluginProblem(problem('definition_invalid', why));
  if (typeof value !== 'object' || value === null || value instanceof Promise) throw wrong(`it is ${kindOf(value)}`);
  const definition = value as Record<string, unknown>;
  if (typeof definition.key !== 'string') throw wrong('it has no key');
  if (canonicalKey(definition.key) !== canonicalKey(entry.key))
    throw wrong(`its key is "${definition.key}" and the manifest says "${entry.key}"`);
  if (typeof definition.register !== 'function') throw wrong('register is not a function');
  for (const name of ['start', 'stop', 'reconfigure', 'health']) {
    if (definition[name] !== undefined && typeof definition[name] !== 'function')
      throw wrong(`${name} is not a function`);
  }
  return value as PluginDefinition;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof Promise) return 'a promise';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`;
}
