import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Database } from '../../core/sdk/index.js';
import { createTestDatabase, openDatabase, silentLog, type TestDatabase, until } from '../../core/sdk/testing/index.js';
import { count, database, databases, folder, json, oneOf, readArguments } from '../arguments.js';
import { fillJobs, lateness, untilEnded } from './cron/fill-jobs.js';
import { oneDay } from './cron/one-day.js';
import { dropInSink } from './cron/sink.js';
import { type Product, startProduct } from './parts/product.js';

/**
 * Cost of many jobs: start-up, memory and ticks while nothing is due; lateness of jobs that are due every second; the rate
 * at which jobs due at one instant are claimed and run, compared with pg-boss if it is installed; recovery time after a
 * kill; and memory growth over the slots of a day.
 */
const values = readArguments('npm run bench -- cron', 'Cost of many scheduled jobs, compared with pg-boss.', {
  database,
  only: oneOf('only the slots of a day', ['day']),
  jobs: count('jobs that wait', 100_000),
  due: count('jobs that are due every second', 1_000),
  seconds: count('how long they are measured', 10),
  burst: count('jobs that are due at one instant', 5_000),
  'day-jobs': count('jobs of the day, at one slot a minute', 70),
  peers: folder('where pg-boss is installed'),
  profile: folder('write CPU profiles of the server there'),
  json,
});
const { jobs, due, seconds, burst, peers, profile } = values;
const queued = 1_000;
const maxRuns = 512;
const month = 30 * 86_400;

type Row = Readonly<Record<string, string | number>>;

const rows: Row[] = [];
for (const dialect of databases) {
  if (values.database !== undefined && values.database !== dialect) continue;
  if (values.only === undefined) rows.push(await measure(dialect));
  rows.push(await oneDay(dialect, values['day-jobs']));
}
if (values.only === undefined && peers !== undefined && existsSync(join(peers, 'node_modules', 'pg-boss'))) {
  const store = await createTestDatabase('postgres');
  try {
    const place = 'connection' in store.settings ? store.settings.connection : {};
    const script = fileURLToPath(new URL('./peers/pg-boss.js', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [
      script,
      resolve(peers),
      JSON.stringify(place),
      String(burst),
    ]);
    rows.push({ scenario: 'pg-boss', ...(JSON.parse(stdout) as Row) });
  } finally {
    await store.drop();
  }
}
const load = loadavg().map((value) => value.toFixed(1));
if (values.json) process.stdout.write(`${JSON.stringify({ load, rows })}\n`);
else {
  for (const row of rows) {
    process.stdout.write(
      `${Object.entries(row)
        .map(([name, value]) => `${name} ${value}`)
        .join(', ')}\n`,
    );
  }
  process.stdout.write(`load ${load.join(' ')} on ${availableParallelism()} cores\n`);
}

async function measure(dialect: 'sqlite' | 'postgres'): Promise<Row> {
  const folder = await mkdtemp(join(tmpdir(), 'mortise-bench-cron-'));
  const store = await createTestDatabase(dialect);
  await dropInSink(join(folder, 'plugins', 'bench-sink'));
  const boot = (): Promise<Product> => start(folder, store);
  // Creates the tables.
  const first = await boot();
  await until('the tables', async () => (await first.server.fetch('/cron/jobs')).ok, 30_000);
  await first.server.end('SIGTERM');
  const host = await openDatabase(store.settings, silentLog);
  const database = host.forPlugin('bench', ['cron']);
  let product: Product | undefined;
  try {
    await fillJobs(database, { prefix: 'idle', count: jobs, seconds: month, from: wholeSecond() });
    const began = performance.now();
    product = await boot();
    const startMs = Math.round(performance.now() - began);
    await sleep(6_000);
    const tick = await tickFigures(product);
    const memory = memoryMb(product);
    const every = await dueEverySecond(database);
    const once = await dueAtOnce(database);
    const killed = await killWithQueue(product, database);
    const restarted = performance.now();
    product = await boot();
    const recovery = await recoveryAfter(restarted, killed, database);
    return { scenario: dialect, jobs, start_ms: startMs, rss_mb: memory, ...tick, ...every, ...once, ...recovery };
  } finally {
    await product?.server.end('SIGTERM');
    await product?.server.dispose();
    await host.close();
    await store.drop();
    await rm(folder, { recursive: true, force: true });
  }
}

function start(folder: string, store: TestDatabase): Promise<Product> {
  return startProduct({
    folder,
    plugins: { 'bench-sink': { enabled: true } },
    env: {
      MORTISE_CRON_MAX_RUNS: String(maxRuns),
      ...(profile === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profile}` }),
      ...(store.settings.dialect === 'sqlite' ? { MORTISE_DATABASE_FILE: store.settings.file } : store.env),
    },
  });
}

function wholeSecond(): number {
  return Math.floor(Date.now() / 1_000) * 1_000;
}

function memoryMb({ server }: Product): number {
  const pages = Number(readFileSync(`/proc/${server.child.pid}/statm`, 'utf8').split(' ')[1]);
  return Math.round((pages * 4_096) / 1_048_576);
}

/** Mean duration of a tick while nothing is due, and the bucket that contains 99 % of the ticks; milliseconds. */
async function tickFigures({ server }: Product): Promise<Row> {
  const text = await (await server.fetch('/metrics')).text();
  const read = (name: string): number =>
    Number(new RegExp(`^${name} ([\\d.e+-]+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  const count = read('mortise_cron_tick_seconds_count');
  const buckets = [...text.matchAll(/^mortise_cron_tick_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm)];
  const [, below] = buckets.find(([, , within]) => Number(within) >= count * 0.99) ?? [];
  return {
    ticks: count,
    tick_mean_ms: Number(((read('mortise_cron_tick_seconds_sum') / count) * 1_000).toFixed(2)),
    tick_p99_below_ms: Number(below) * 1_000,
  };
}

async function dueEverySecond(database: Database): Promise<Row> {
  await fillJobs(database, { prefix: 'due', count: due, seconds: 1, from: wholeSecond() + 2_000 });
  await sleep((seconds + 3) * 1_000);
  await stopJobs(database, 'due');
  await untilEnded(database, 'due', 1);
  const { late } = await lateness(database, 'due');
  return { due_per_second: due, due_runs: late.length, late_p50_ms: at(late, 0.5), late_p99_ms: at(late, 0.99) };
}

async function dueAtOnce(database: Database): Promise<Row> {
  const from = wholeSecond() + 5_000;
  await fillJobs(database, { prefix: 'burst', count: burst, seconds: month, from: from - month * 1_000 });
  await untilEnded(database, 'burst', burst);
  const { late, lastEnd } = await lateness(database, 'burst');
  const { rows: claims } = await database.statement<{ last: string }>(
    "select max(decided_at) as last from {cron.slots} where job_id like 'burst-%'",
  );
  const claimMs = Math.max(1, Date.parse(claims[0]?.last ?? '') - from);
  return {
    burst,
    claims_per_second: Math.round(burst / (claimMs / 1_000)),
    runs_per_second: Math.round(burst / ((lastEnd - from) / 1_000)),
    burst_p50_ms: at(late, 0.5),
    burst_p99_ms: at(late, 0.99),
  };
}

/** Kills the process while a part of `queued` runs hangs and the others wait. @returns when, epoch milliseconds */
async function killWithQueue({ server }: Product, database: Database): Promise<number> {
  const from = wholeSecond() + 2_000;
  await fillJobs(database, {
    prefix: 'queued',
    count: queued,
    seconds: month,
    from: from - month * 1_000,
    text: 'hang',
  });
  await until('runs that hang', async () => (await startsOf(database, 0)).length >= Math.min(queued, maxRuns), 60_000);
  await server.end('SIGKILL');
  return Date.now();
}

/** From the start of the process to the first start of a run, and to the recovery of the last run that was interrupted. */
async function recoveryAfter(restarted: number, killed: number, database: Database): Promise<Row> {
  const passed = (): number => Math.round(performance.now() - restarted);
  await until('the first run', async () => (await startsOf(database, killed)).length > 0, 60_000);
  const firstMs = passed();
  const remaining = async (): Promise<number> => {
    const { rows } = await database.statement<{ count: number | string }>(
      "select count(*) as count from {cron.runs} where status = 'running' and started_at < ?",
      [new Date(killed).toISOString()],
    );
    return Number(rows[0]?.count);
  };
  await until('the recovery', async () => (await remaining()) === 0, 120_000);
  return { killed_with_queued: queued, first_start_ms: firstMs, recovered_ms: passed() };
}

async function startsOf(database: Database, after: number): Promise<readonly object[]> {
  await sleep(50);
  const { rows } = await database.statement(
    "select run_id from {cron.runs} where status = 'running' and started_at > ? and job_id like 'queued-%'",
    [new Date(after).toISOString()],
  );
  return rows;
}

async function stopJobs(database: Database, prefix: string): Promise<void> {
  const lock = database.dialect === 'postgres' ? 'order by job_id for update' : '';
  await database.statement(
    `update {cron.jobs} set next_run_at = null
     where job_id in (select job_id from {cron.jobs} where job_id like ? ${lock})`,
    [`${prefix}-%`],
  );
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
