import { mkdirSync, readdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from './failure.mjs';
import { readJson, writeJson } from './json-file.mjs';
import { runChild } from './run-child.mjs';
import { environmentWith } from './runtime.mjs';
import { compareSources, listSources } from './sources.mjs';

const output = 'dist';
/** Of the memory below: a change of its shape makes old ones unreadable, which only costs one build. */
const version = 1;

/** @param {string} root */
const memoryFile = (root) => join(root, output, '.built.json');

/**
 * What the compiler reads, taken from tsconfig.json so that it is said once.
 * @param {string} root
 */
function selection(root) {
  const { include = [], exclude = [] } = readJson(join(root, 'tsconfig.json')) ?? {};
  const settings = readdirSync(root).filter((name) => /^tsconfig.*\.json$/.test(name));
  return {
    folders: include.map((/** @type {string} */ pattern) => pattern.replace(/\/\*\*\/\*\.ts$/, '')),
    files: ['package.json', 'package-lock.json', ...settings],
    fits: (/** @type {string} */ name) => name.endsWith('.ts'),
    skip: new Set(['node_modules', ...exclude]),
  };
}

/**
 * Whether dist is what the sources say, and which type errors its build had.
 * @param {string} root
 * @returns {{ current: boolean, errors: string[] }}
 */
export function inspectBuild(root) {
  const memory = readJson(memoryFile(root));
  if (memory?.version !== version) return { current: false, errors: [] };
  const paths = listSources(root, selection(root));
  const { changed, touched, entries } = compareSources(root, paths, memory.sources);
  if (changed || missingOutput(root, paths)) return { current: false, errors: [] };
  if (touched) remember(root, { ...memory, sources: entries });
  return { current: true, errors: memory.errors };
}

/**
 * Compiles what changed. Type errors do not stop it: everything that can be emitted is.
 * @param {string} root
 * @param {{ node: string, interrupts: ReturnType<typeof import('./interrupts.mjs').watchInterrupts>,
 *   onWorker?: (pid: number | undefined) => void }} options
 * @returns {Promise<{ errors: string[] }>} the compiler's lines, `file(line,column): error TS…: …`
 */
export async function buildProject(root, { node, interrupts, onWorker }) {
  const chosen = selection(root);
  const paths = listSources(root, chosen);
  // Looked at before the build: what is edited meanwhile counts as changed the next time.
  const { entries } = compareSources(root, paths, {});
  // The compiler's own memory does not notice outputs that are gone.
  if (readJson(memoryFile(root))?.version !== version || missingOutput(root, paths)) {
    rmSync(join(root, output, '.tsbuildinfo'), { force: true });
  }
  rmSync(memoryFile(root), { force: true });
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const result = await runChild(node, [compiler, '-p', 'tsconfig.json', '--pretty', 'false'], {
    cwd: root,
    env: environmentWith(node),
    interrupts,
    onStart: onWorker,
  });
  const errors = result.output.split(/\r?\n/).filter((line) => /(^|: )error TS\d+: /.test(line));
  if (result.code !== 0 && errors.length === 0) {
    const reason = result.output.trim().split('\n').at(-1) || `it ended with ${result.signal ?? result.code}`;
    throw new Failure('compiler_failed', { reason });
  }
  prune(root, chosen, new Set(paths));
  remember(root, { version, errors, sources: entries });
  return { errors };
}

/**
 * @param {string} root
 * @param {unknown} memory
 */
function remember(root, memory) {
  try {
    mkdirSync(join(root, output), { recursive: true });
    writeJson(memoryFile(root), memory);
  } catch (error) {
    // A project that this user may only read is looked at anew each time.
    if (!['EACCES', 'EROFS', 'EPERM'].includes(error.code)) throw error;
  }
}

/**
 * The compiler writes no empty file: one that is empty was cut short.
 * @param {string} path
 */
function isThere(path) {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/**
 * @param {string} root
 * @param {readonly string[]} paths
 */
function missingOutput(root, paths) {
  return paths.some((path) => /(?<!\.d)\.ts$/.test(path) && !isThere(join(root, output, path.replace(/ts$/, 'js'))));
}

const produced = /\.(js|js\.map|d\.ts|d\.ts\.map)$/;

/**
 * Removes outputs whose source is gone: a deleted test would run on, a deleted plugin would still be found.
 * @param {string} root
 * @param {ReturnType<typeof selection>} chosen
 * @param {ReadonlySet<string>} sources
 */
function prune(root, { folders, skip }, sources) {
  const base = join(root, output);
  for (const path of listSources(base, { folders, skip, files: [], fits: (name) => produced.test(name) })) {
    if (sources.has(path.replace(produced, '.ts'))) continue;
    rmSync(join(base, path));
    removeEmpty(base, path);
  }
}

/**
 * @param {string} base
 * @param {string} path
 */
function removeEmpty(base, path) {
  const folder = path.slice(0, path.lastIndexOf('/'));
  if (!folder.includes('/') || readdirSync(join(base, folder)).length > 0) return;
  rmdirSync(join(base, folder));
  removeEmpty(base, folder);
}
