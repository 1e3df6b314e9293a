import { problem } from '../messages/plugin-problems.js';
import type { PluginDefinition, PluginLifecycle } from '../sdk/plugin.js';
import { canonicalKey } from '../sdk/points/point.js';
import { runMarked } from './attribution.js';
import type { CatalogueEntry } from './catalogue.js';
import { explainError, placeOf } from './describe-error.js';
import { importEntry } from './import-entry.js';
import { isThenable } from './is-thenable.js';
import { PluginProblem } from './plugin-problem.js';
import { syntaxPlace } from './syntax-place.js';
import { milliseconds, withTimeLimit } from './time-limit.js';

/** Loads the module of a plugin and makes its definition. @throws PluginProblem; the reason of an abort. */
export async function loadDefinition(
  entry: CatalogueEntry,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<PluginDefinition> {
  const mark = { plugin: entry.key };
  let loaded: unknown;
  try {
    loaded = await withTimeLimit(
      runMarked(mark, () => (entry.load ? entry.load() : importEntry(entry))),
      milliseconds(timeoutMs),
      () => new PluginProblem(problem('import_timeout', timeoutMs)),
      signal,
    );
  } catch (error) {
    if (error instanceof PluginProblem || error === signal.reason) throw error;
    throw new PluginProblem(problem('import_failed', await explainImport(error, entry)), error);
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
    throw new PluginProblem(problem('export_invalid', `it threw: ${explainError(error, entry.codeFolder)}`), error);
  }
  try {
    return checkDefinition(entry, definition);
  } catch (error) {
    if (error instanceof PluginProblem) throw error;
    const why = `reading it threw: ${explainError(error, entry.codeFolder)}`;
    throw new PluginProblem(problem('definition_invalid', why), error);
  }
}

const lifecycleFunctions = ['drain', 'stop', 'reconfigure', 'health'] as const;

/** What `start` returned, if it returned functions for the host to call. @throws PluginProblem `definition_invalid` */
export function checkStarted(value: unknown): PluginLifecycle {
  if (typeof value !== 'object' || value === null) return {};
  const members = value as Record<string, unknown>;
  for (const name of lifecycleFunctions) {
    if (members[name] !== undefined && typeof members[name] !== 'function')
      throw new PluginProblem(problem('definition_invalid', `${name}, which start() returned, is not a function`));
  }
  return value as PluginLifecycle;
}

async function explainImport(error: unknown, entry: CatalogueEntry): Promise<string> {
  const { entry: file, codeFolder } = entry;
  const known = placeOf(error, codeFolder);
  const place =
    !known && error instanceof SyntaxError && file && codeFolder ? await syntaxPlace(file, codeFolder) : known;
  return explainError(error, codeFolder, place);
}

function checkDefinition(entry: CatalogueEntry, value: unknown): PluginDefinition {
  const wrong = (why: string): PluginProblem => new PluginProblem(problem('definition_invalid', why));
  if (isThenable(value)) {
    void Promise.resolve(value).catch(() => undefined);
    throw wrong('it is a promise');
  }
  if (typeof value !== 'object' || value === null) throw wrong(`it is ${kindOf(value)}`);
  const definition = value as Record<string, unknown>;
  if (typeof definition.key !== 'string') throw wrong('it has no key');
  if (canonicalKey(definition.key) !== canonicalKey(entry.key))
    throw wrong(`its key is "${definition.key}" and the manifest says "${entry.key}"`);
  for (const name of ['register', 'start', ...lifecycleFunctions]) {
    if (definition[name] !== undefined && typeof definition[name] !== 'function')
      throw wrong(`${name} is not a function`);
  }
  return value as PluginDefinition;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'undefined' ? 'undefined' : `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`;
}
