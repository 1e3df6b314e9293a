import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import * as nodeModule from 'node:module';
import { basename, extname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readSmallFile } from '../files/index.js';
import { explainError, PluginProblem, placeOf } from '../messages/plugin-problem.js';
import { problem } from '../messages/plugin-problems.js';
import type { PluginDefinition, PluginLifecycle } from '../sdk/plugin.js';
import { canonicalKey } from '../sdk/points/point.js';
import { runMarked } from './attribution.js';
import type { CatalogueEntry } from './catalogue.js';
import { isThenable, milliseconds, withTimeLimit } from './time-limit.js';

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
  const text = explainError(error, codeFolder, place);
  return error instanceof SyntaxError && commonJs.test(text) ? `${text}, because ${readAsCommonJs}` : text;
}

/** What Node says about module syntax in a file that it reads as CommonJS. */
const commonJs = /Unexpected token 'export'|Cannot use import statement outside a module/;
const readAsCommonJs =
  'Node reads the file as CommonJS: name the entry .mjs, or put a package.json with {"type": "module"} beside plugin.json and restart the server';

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

/**
 * Loads the module of a plugin. Node remembers a file that failed to parse by its URL, so dropped-in code is loaded under
 * a URL that carries the hash of all of it.
 *
 * @throws PluginProblem `entry_missing`, or whatever the module throws.
 */
export async function importEntry(entry: CatalogueEntry): Promise<unknown> {
  const file = entry.entry ?? '';
  const found = await stat(file).catch(() => undefined);
  if (!found) throw new PluginProblem(problem('entry_missing', basename(file)));
  if (!found.isFile()) throw new PluginProblem(problem('entry_no_file', basename(file)));
  const url = pathToFileURL(file);
  if (entry.source === 'local' && entry.codeFolder) {
    passVersionsOn(entry.codeFolder);
    url.searchParams.set('v', await codeVersion(entry.codeFolder));
  }
  return import(url.href);
}

const codeFiles = new Set(['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts', '.json']);

/** URLs of plugin folders whose modules carry a version, with the slash after them. */
const versioned = new Set<string>();
let hooked = false;

/** A hash over all code of a plugin, without its node_modules. */
async function codeVersion(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of (await filesBelow(folder)).sort()) {
    hash.update(`${file}\0`);
    hash.update(await readFile(join(folder, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

/**
 * Gives the modules that a plugin imports from its own folder the version of the importing one: else the process would
 * keep an old or broken copy of them. On Node before 22.15 only the entry carries a version.
 */
function passVersionsOn(folder: string): void {
  versioned.add(`${pathToFileURL(folder).href}/`);
  if (hooked || typeof nodeModule.registerHooks !== 'function') return;
  hooked = true;
  nodeModule.registerHooks({
    resolve: (specifier, context, next) => {
      const found = next(specifier, context);
      const { parentURL } = context;
      const version = parentURL && versionOf(parentURL);
      if (!version || found.url.includes('?')) return found;
      const own = [...versioned].some(
        (one) => parentURL.startsWith(one) && found.url.startsWith(one) && !found.url.includes('/node_modules/'),
      );
      return own ? { ...found, url: `${found.url}?v=${version}` } : found;
    },
  });
}

function versionOf(url: string): string | undefined {
  return /\?v=([0-9a-f]{16})$/.exec(url)?.[1];
}

async function filesBelow(folder: string, below = ''): Promise<string[]> {
  const items = await readdir(join(folder, below), { withFileTypes: true });
  const found = await Promise.all(
    items.map((item) => {
      const path = join(below, item.name);
      if (item.isDirectory()) return item.name === 'node_modules' ? [] : filesBelow(folder, path);
      return item.isFile() && codeFiles.has(extname(item.name)) ? [path] : [];
    }),
  );
  return found.flat();
}

/** Files of one plugin that are checked; each takes a process of some 40 ms. */
const filesChecked = 25;

/**
 * Where a plugin's JavaScript has a syntax error: `lib/index.js:4`. The error that an import throws names neither file nor
 * line; Node only prints them.
 */
async function syntaxPlace(entry: string, codeFolder: string): Promise<string | undefined> {
  const found = await readdir(codeFolder, { recursive: true }).catch(() => []);
  const others = found
    .filter((name) => /\.m?js$/.test(name) && !name.split(/[\\/]/).includes('node_modules'))
    .map((name) => join(codeFolder, name));
  for (const file of [...new Set([entry, ...others])].slice(0, filesChecked)) {
    const line = /\.m?js$/.test(file) ? await wrongLine(file) : undefined;
    if (line !== undefined) return `${relative(codeFolder, file)}:${line}`;
  }
  return undefined;
}

async function wrongLine(file: string): Promise<string | undefined> {
  const source = await readSmallFile(file).catch(() => undefined);
  if (source === undefined) return undefined;
  return new Promise((resolve) => {
    const options = { env: {}, timeout: 5_000 };
    const check = execFile(process.execPath, ['--check', '--input-type=module', '-'], options, (_error, _out, errors) =>
      resolve(/^\[stdin\]:(\d+)/m.exec(errors)?.[1]),
    );
    // The check may have ended before it read everything.
    check.stdin?.on('error', () => undefined).end(source);
  });
}
