import { mkdirSync, readdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from './failure.mjs';
import { readJson, writeJson } from './json-file.mjs';
import { runChild } from './run-child.mjs';
import { environmentWith } from './runtime.mjs';
import { compareSources, listSources } from './sources.mjs';

const output = 'dist';
/** Format version of the build record. A record of another version is ignored, which only costs one build. */
const version = 1;

/** @param {string} root */
const recordFile = (root) => join(root, output, '.built.json');

/**
 * The compiler's inputs, read from tsconfig.json.
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
 * Whether dist is up to date, and the type errors of its build.
 * @param {string} root
 * @returns {{ current: boolean, errors: string[] }}
 */
export function inspectBuild(root) {
  const record = readJson(recordFile(root));
  if (record?.version !== version) return { current: false, errors: [] };
  const paths = listSources(root, selection(root));
  const { changed, touched, entries } = compareSources(root, paths, record.sources);
  if (changed || missingOutput(root, paths)) return { current: false, errors: [] };
  if (touched) saveRecord(root, { ...record, sources: entries });
  return { current: true, errors: record.errors };
}

/**
 * Compiles incrementally. Type errors do not stop the build from emitting.
 * @param {string} root
 * @param {{ node: string, interrupts: ReturnType<typeof import('./interrupts.mjs').watchInterrupts>,
 *   onWorker?: (pid: number | undefined) => void }} options
 * @returns {Promise<{ errors: string[] }>} the compiler's lines, `file(line,column): error TS…: …`
 */
export async function buildProject(root, { node, interrupts, onWorker }) {
  const chosen = selection(root);
  const paths = listSources(root, chosen);
  // Recorded before the build, so that files edited meanwhile count as changed the next time.
  const { entries } = compareSources(root, paths, {});
  // The compiler's incremental state does not detect missing outputs.
  if (readJson(recordFile(root))?.version !== version || missingOutput(root, paths)) {
    rmSync(join(root, output, '.tsbuildinfo'), { force: true });
  }
  rmSync(recordFile(root), { force: true });
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
  saveRecord(root, { version, errors, sources: entries });
  return { errors };
}

/**
 * @param {string} root
 * @param {unknown} record
 */
function saveRecord(root, record) {
  try {
    mkdirSync(join(root, output), { recursive: true });
    writeJson(recordFile(root), record);
  } catch (error) {
    // Without write access, the project is checked again each time.
    if (!['EACCES', 'EROFS', 'EPERM'].includes(error.code)) throw error;
  }
}

/**
 * The compiler writes no empty files; an empty one was truncated.
 * @param {string} path
 */
function isComplete(path) {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/**
 * @param {string} root
 * @param {readonly string[]} paths
 */
function missingOutput(root, paths) {
  return paths.some((path) => /(?<!\.d)\.ts$/.test(path) && !isComplete(join(root, output, path.replace(/ts$/, 'js'))));
}

const produced = /\.(js|js\.map|d\.ts|d\.ts\.map)$/;

/**
 * Removes outputs without a source, so that deleted tests do not run and deleted plugins are not loaded.
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
