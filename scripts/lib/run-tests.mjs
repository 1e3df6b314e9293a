import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { readJson, writeJson } from './json-file.mjs';
import { nodeFlags } from './node-flags.mjs';
import { runChild } from './run-child.mjs';
import { environmentWith } from './runtime.mjs';
import { runsAlone } from './select-tests.mjs';

/**
 * @typedef {{ files: string[], alone: boolean, cost: number }} Batch files that one mocha process runs
 * @typedef {{ event: 'begin' | 'pass' | 'fail' | 'end', file?: string, title?: string, ms?: number, error?: string }} Event
 *   one line of test-reporter.cjs
 * @typedef {{ where: string, error: string }} Failed
 */

/** Target duration of the files of one process, in milliseconds: short enough to keep all processes busy to the end. */
const batchCost = 15_000;
/** Loading the platform costs about half a second per process, so small files share one. */
const batchFiles = 12;

const propertySeed = new URL('property-seed.mjs', import.meta.url).href;

/** @param {string} root */
const timesFile = (root) => join(root, 'dist', '.test-times.json');

/**
 * Runs test files in concurrent mocha processes that share one PostgreSQL server; then, in one process at a time, those
 * that must run alone.
 * @param {import('./checks.mjs').RunContext} at
 * @param {{ files: readonly string[], database?: boolean, load?: readonly string[], env?: NodeJS.ProcessEnv }} options `database`: whether the tests
 *   may use PostgreSQL, default true; `load`: modules that are imported first
 * @returns {Promise<import('./checks.mjs').Outcome>}
 */
export async function runTests(at, { files, database = true, load = [], env: more = {} }) {
  const { options, chosen } = readArguments(at.args, files);
  const folder = mkdtempSync(join(tmpdir(), 'mortise-results-'));
  const memory = temporaryInMemory();
  const postgres = database ? await startSharedPostgres(at, memory) : undefined;
  // Compiling the same sources takes a fifth of the CPU time of a short process.
  const cache = { NODE_COMPILE_CACHE: join(at.root, 'dist', '.compile-cache') };
  const env = { ...environmentWith(at.node), ...cache, ...memory, ...postgres?.env, ...more };
  const times = readJson(timesFile(at.root)) ?? {};
  /** @type {Failed[]} */
  const failures = [];
  let passed = 0;
  let number = 0;

  /** @param {Batch} batch */
  const runBatch = async (batch) => {
    number += 1;
    const results = join(folder, `${number}.jsonl`);
    const child = await runChild(
      at.node,
      [
        ...nodeFlags(),
        ...[propertySeed, ...load].flatMap((module) => ['--import', module]),
        join(at.root, 'node_modules/mocha/bin/mocha.js'),
        ...['--reporter', join(at.root, 'scripts/lib/test-reporter.cjs'), '--no-fail-zero'],
        ...options,
        ...batch.files,
      ],
      { cwd: at.root, env: { ...env, MORTISE_TEST_RESULTS: results }, interrupts: at.interrupts },
    );
    process.stdout.write(child.output);
    const events = readEvents(results);
    for (const { event, file, ms = 0 } of events) {
      if (file && (event === 'pass' || event === 'fail')) spentOn[file] = (spentOn[file] ?? 0) + ms;
    }
    const failed = events.filter(({ event }) => event === 'fail');
    passed += events.filter(({ event }) => event === 'pass').length;
    failures.push(...failed.map(({ file, title, error = '' }) => ({ where: `${file}: ${title}`, error })));
    // A process that could not load a file, died, or did not end by itself is an additional failure.
    const ended = events.at(-1)?.event === 'end';
    if (!ended || (child.code !== 0 && failed.length === 0)) failures.push(abortedRun(batch, child, events));
  };
  /** @type {Record<string, number>} */
  const spentOn = {};

  try {
    const batches = makeBatches(at.root, chosen, times);
    await inParallel(
      batches.filter(({ alone }) => !alone),
      jobs(),
      runBatch,
    );
    await inParallel(
      batches.filter(({ alone }) => alone),
      1,
      runBatch,
    );
  } finally {
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  rememberTimes(at.root, { ...times, ...spentOn });
  printFailures(failures);
  if (passed + failures.length === 0) console.log('No test ran.');
  return { ok: failures.length === 0 && passed > 0, totals: { passed, failed: failures.length } };
}

/**
 * Paths (of a source, a compiled file or a folder) select files; other arguments are passed to mocha.
 * @param {readonly string[]} args
 * @param {readonly string[]} files
 */
function readArguments(args, files) {
  const isPath = (/** @type {string} */ arg) => /^(\.\/)?(dist\/)?(core|plugins|scripts|test)\//.test(arg);
  const paths = args.filter(isPath).map((arg) => arg.replace(/^(\.\/)?(dist\/)?/, 'dist/').replace(/\.ts$/, '.js'));
  return {
    options: args.filter((arg) => !isPath(arg)),
    chosen: paths.length === 0 ? files : files.filter((file) => paths.some((path) => file.startsWith(path))),
  };
}

/** The tests use a few hundred megabytes at a time. */
const memoryBytes = 4 * 1024 ** 3;

/**
 * Temporary files in memory, if Linux has enough of it and allows execution there: a SQLite database waits for the disk
 * at every commit, and the tests create hundreds.
 * @returns {NodeJS.ProcessEnv}
 */
function temporaryInMemory() {
  const folder = '/dev/shm';
  if (process.env.TMPDIR || !existsSync(folder)) return {};
  const mount = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .find((line) => line.split(' ')[1] === folder);
  const { bavail, bsize } = statfsSync(folder);
  return !mount || /\bnoexec\b|\bro\b/.test(mount) || bavail * bsize < memoryBytes ? {} : { TMPDIR: folder };
}

/** Tests wait half of the time, so there are more processes than cores. */
function jobs() {
  return Number(process.env.MORTISE_TEST_JOBS) || availableParallelism() + 2;
}

/**
 * Files of one folder share a batch, up to its limits; the longest batches run first.
 * @param {string} root
 * @param {readonly string[]} files
 * @param {Readonly<Record<string, number>>} times duration of each file in its last run, milliseconds
 * @returns {Batch[]}
 */
function makeBatches(root, files, times) {
  /** @type {Batch[]} */
  const batches = [];
  for (const file of files) {
    const alone = runsAlone(file);
    // A new file is estimated at 250 ms per kilobyte.
    const cost = times[file] ?? statSync(join(root, file)).size / 4;
    const last = batches.at(-1);
    const fits =
      last &&
      dirname(last.files[0] ?? '') === dirname(file) &&
      last.cost + cost <= batchCost &&
      last.files.length < batchFiles;
    if (last && fits) {
      last.files.push(file);
      last.cost += cost;
    } else batches.push({ files: [file], alone, cost });
  }
  return batches.sort((a, b) => b.cost - a.cost);
}

/**
 * @template T
 * @param {readonly T[]} items
 * @param {number} limit
 * @param {(item: T) => Promise<void>} run
 */
async function inParallel(items, limit, run) {
  const queue = items.values();
  const work = async () => {
    for (const item of queue) await run(item);
  };
  await Promise.all(Array.from({ length: limit }, work));
}

/**
 * @param {string} path
 * @returns {Event[]}
 */
function readEvents(path) {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  // The last line may be truncated.
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
}

/**
 * @param {Batch} batch
 * @param {{ code: number | null, signal: NodeJS.Signals | null, output: string }} child
 * @param {readonly Event[]} events
 * @returns {Failed}
 */
function abortedRun(batch, { code, signal, output }, events) {
  const last = events.at(-1);
  const how = signal ? `by ${signal}` : `with code ${code}`;
  const at =
    last?.event === 'end'
      ? 'after its last test'
      : last?.event === 'begin'
        ? `in ${last.file}: ${last.title}`
        : last
          ? `after ${last.file}: ${last.title}`
          : 'before its first test';
  return {
    where: `a test process ended ${how}, ${at}`,
    error: `It ran ${batch.files.join(', ')}\n${output.trim().split('\n').slice(-15).join('\n')}`,
  };
}

/** @param {readonly Failed[]} failures */
function printFailures(failures) {
  if (failures.length === 0) return;
  console.log(`\n${failures.length} failed:`);
  for (const [index, { where, error }] of failures.entries()) {
    console.log(`\n  ${index + 1}) ${where}\n${error.split('\n').slice(0, 20).join('\n').replace(/^/gm, '     ')}`);
  }
}

/**
 * @param {string} root
 * @param {Record<string, number>} times
 */
function rememberTimes(root, times) {
  try {
    writeJson(timesFile(root), times);
  } catch {
    // It affects only the order of the next run.
  }
}

/**
 * @param {import('./checks.mjs').RunContext} at
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<{ env: NodeJS.ProcessEnv, stop: () => Promise<void> } | undefined>} undefined when the tests use
 *   a running server, or none
 */
async function startSharedPostgres({ root, node }, env) {
  const engines = process.env.TEST_DATABASE_ENGINES;
  const script = join(root, 'dist/core/sdk/testing/shared-postgres.js');
  if (process.env.TEST_DATABASE_HOST?.trim() || (engines && !engines.includes('postgres'))) return undefined;
  if (!existsSync(script)) return undefined;
  const child = spawn(node, [...nodeFlags(), script], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const [port] = await Promise.race([
    new Promise((resolve) => createInterface({ input: child.stdout }).once('line', (line) => resolve([line]))),
    ended.then(() => [undefined]),
  ]);
  // Without it every test that needs the server reports why it could not start.
  if (!port) return undefined;
  return {
    env: { MORTISE_TEST_POSTGRES_PORT: port },
    stop: async () => {
      child.stdin.end();
      await ended;
    },
  };
}
