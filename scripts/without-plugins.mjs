// npm run check:without -- [--only <key>]: deletes everything but contract/ of each plugin that is not required, one at a
// time in a copy of this folder, and checks that the rest builds, starts and answers.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { askFeatures } from './lib/ask-features.mjs';
import { buildProject } from './lib/build.mjs';
import { projectRoot, runEntry } from './lib/entry.mjs';
import { Failure, Interrupted } from './lib/failure.mjs';
import { watchInterrupts } from './lib/interrupts.mjs';
import { readJson } from './lib/json-file.mjs';
import { nodeFlags } from './lib/node-flags.mjs';
import { prepare } from './lib/prepare.mjs';
import { createProgress } from './lib/progress.mjs';
import { runChild } from './lib/run-child.mjs';

const linked = ['node_modules', '.runtime'];
const notCopied = new Set([...linked, '.git', '.data']);
/** Time limit of the server's start, and of its exit, in milliseconds. */
const limit = 60_000;

/**
 * @typedef {Readonly<Record<string, { enabled?: boolean, required?: boolean }>>} Desired rows of plugins.json
 * @typedef {{ key: string, state: string, code?: string, hint?: string }} Row of `mortise plugin list --json`
 * @typedef {{ node: string, interrupts: ReturnType<typeof watchInterrupts> }} Tools
 */

runEntry(async () => {
  const { values } = parseArgs({ options: { only: { type: 'string' } } });
  /** @type {Desired} */
  const desired = readJson(join(projectRoot, 'plugins.json')).plugins;
  const optional = readdirSync(join(projectRoot, 'plugins')).filter(
    (key) => !desired[key]?.required && existsSync(join(projectRoot, 'plugins', key, 'plugin.json')),
  );
  if (values.only !== undefined && !optional.includes(values.only))
    throw new Failure('unknown_plugin', { name: values.only, known: optional.join(', ') });
  const { node, errors } = await prepare(projectRoot);
  if (errors[0] !== undefined) throw new Failure('type_errors', { error: errors[0] });
  const { say, step } = createProgress();
  const interrupts = watchInterrupts();
  let failed = 0;
  for (const key of values.only === undefined ? optional : [values.only]) {
    try {
      await step(`without ${key}`, () => checkWithout(key, desired, { node, interrupts }));
    } catch (error) {
      if (error instanceof Interrupted) throw error;
      failed += 1;
      say(`without ${key}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return failed === 0 ? 0 : 1;
});

/**
 * @param {string} deleted
 * @param {Desired} desired
 * @param {Tools} tools
 */
async function checkWithout(deleted, desired, tools) {
  const root = mkdtempSync(join(tmpdir(), `mortise-without-${deleted}-`));
  try {
    for (const name of readdirSync(projectRoot)) {
      // The compiler overwrites its output in place, so hard links to it would change the original.
      if (!notCopied.has(name))
        cpSync(join(projectRoot, name), join(root, name), { recursive: true, preserveTimestamps: true });
    }
    for (const name of linked)
      if (existsSync(join(projectRoot, name))) symlinkSync(join(projectRoot, name), join(root, name));
    const plugin = join(root, 'plugins', deleted);
    for (const name of readdirSync(plugin)) if (name !== 'contract') rmSync(join(plugin, name), { recursive: true });
    if (readdirSync(plugin).length === 0) rmSync(plugin, { recursive: true });

    const { errors } = await buildProject(root, tools);
    if (errors.length > 0) throw new Error(`${errors.length} type errors\n${errors.join('\n')}`);
    const missing = dependants(root, deleted);
    await withServer(root, tools, async (origin, env) => {
      await until('/ready answers 200', async () => (await fetch(`${origin}/ready`)).ok || undefined);
      // `/ready` waits only for the required plugins.
      const rows = await until('every plugin has started or cannot', async () => {
        const listed = await listPlugins(root, env, tools);
        return listed.some(({ state }) => ['checking', 'starting'].includes(state)) ? undefined : listed;
      });
      checkStates(rows, desired, deleted, missing);
      await askFeatures(origin, missing);
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/**
 * @param {string} root
 * @param {string} deleted
 * @returns {ReadonlySet<string>} the deleted plugin and all plugins that require it, directly or indirectly
 */
function dependants(root, deleted) {
  const missing = new Set([deleted]);
  const manifests = readdirSync(join(root, 'plugins')).map((key) =>
    readJson(join(root, 'plugins', key, 'plugin.json')),
  );
  for (let before = 0; before < missing.size; ) {
    before = missing.size;
    for (const manifest of manifests)
      if (manifest?.requires?.some((/** @type {string} */ key) => missing.has(key))) missing.add(manifest.key);
  }
  return missing;
}

/**
 * Starts the server on a free port with separate folders, and stops it after `use`.
 * @param {string} root
 * @param {Tools} tools
 * @param {(origin: string, env: NodeJS.ProcessEnv) => Promise<void>} use
 */
async function withServer(root, { node, interrupts }, use) {
  const folder = join(root, '.check');
  for (const name of ['config', 'plugins']) mkdirSync(join(folder, name), { recursive: true });
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    MORTISE_DATA_DIR: join(folder, 'data'),
    MORTISE_CONFIG_DIR: join(folder, 'config'),
    MORTISE_PLUGINS_DIR: join(folder, 'plugins'),
    MORTISE_PLUGINS_FILE: join(root, 'plugins.json'),
    MORTISE_WORKSPACE_DIR: folder,
    MORTISE_PORT: '0',
  };
  const main = join(root, 'dist', 'core', 'main.js');
  const child = spawn(node, [...nodeFlags(), main], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  interrupts.track(child);
  const ended = once(child, 'close');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  try {
    const origin = await until('the server listens', () => {
      interrupts.throwIfReceived();
      if (child.exitCode !== null || child.signalCode !== null) throw new Error('the server ended before it listened');
      return /listens on (http:\/\/[^\s"]+)/.exec(output)?.[1];
    });
    await use(origin, { ...env, MORTISE_API_BASE: origin });
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), limit);
    const [code, signal] = await ended.finally(() => clearTimeout(late));
    if (code !== 0) throw new Error(`the server ended with ${signal ?? code} after SIGTERM`);
  } catch (error) {
    child.kill('SIGKILL');
    await ended;
    interrupts.throwIfReceived();
    throw new Error(`${error instanceof Error ? error.message : error}\n${output.slice(-4_000)}`);
  }
}

/**
 * @param {string} root
 * @param {NodeJS.ProcessEnv} env
 * @param {Tools} tools
 * @returns {Promise<readonly Row[]>}
 */
async function listPlugins(root, env, { node, interrupts }) {
  const args = [...nodeFlags(), join(root, 'dist', 'core', 'cli', 'main.js'), 'plugin', 'list', '--json'];
  const { code, output } = await runChild(node, args, { cwd: root, env, interrupts });
  if (code !== 0) throw new Error(`mortise plugin list ended with ${code}: ${output}`);
  return JSON.parse(output).plugins;
}

/**
 * @param {readonly Row[]} rows
 * @param {Desired} desired
 * @param {string} deleted
 * @param {ReadonlySet<string>} missing
 */
function checkStates(rows, desired, deleted, missing) {
  const wrong = Object.entries(desired).flatMap(([key, { enabled }]) => {
    const { state = 'not listed', code, hint } = rows.find((row) => row.key === key) ?? {};
    if (!enabled) return state === 'active' ? [`${key} is disabled and active`] : [];
    if (!missing.has(key)) return state === 'active' ? [] : [`${key} is ${state}: ${code}`];
    const expected = key === deleted ? ['plugin_missing'] : ['dependency_missing', 'dependency_not_active'];
    const isExplained = state === 'blocked' && expected.includes(code ?? '') && hint;
    return isExplained ? [] : [`${key} is ${state}: ${code}, not blocked: ${expected.join(' or ')}`];
  });
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
}

/**
 * @template T
 * @param {string} what
 * @param {() => T | undefined | Promise<T | undefined>} look
 * @returns {Promise<T>} what `look` returned, once that is not undefined
 */
async function until(what, look) {
  for (const end = Date.now() + limit; Date.now() < end; await delay(50)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error(`Not within ${limit} ms: ${what}`);
}
