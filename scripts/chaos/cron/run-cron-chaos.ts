import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestDatabase, type ServerProcess, startServer, until } from 'mortise/sdk/testing';
import { checkLedger, type LedgerReport } from '../checker/check-ledger.js';
import { openPostgres, openSqlite } from '../checker/open-database.js';
import type { DatabaseReader } from '../checker/read-database.js';
import type { DatabaseKind } from '../options.js';
import { type RandomStream, randomStream } from '../plan/random-stream.js';
import { jobBody, planJobs } from './plan-jobs.js';
import { installSink } from './sink-plugin.js';

interface CronChaosRun {
  readonly database: DatabaseKind;
  readonly kills: number;
  readonly seed: number;
  readonly jobs: number;
  /** Number of shifts of a process's wall clock, by an hour each. */
  readonly jumps: number;
  readonly onKill?: (killed: number) => void;
}

export interface CronChaosResult extends LedgerReport, Omit<CronChaosRun, 'onKill'> {
  readonly ok: boolean;
  readonly killed: number;
  /** Number of clock shifts. */
  readonly jumped: number;
  /** Processes that were suspended until their leases had expired, and continued. */
  readonly suspended: number;
}

const plugins = ['sessions', 'conversation', 'cron', 'cron-nodes', 'chaos-sink'];
const leaseSeconds = 1;
const hourMs = 3_600_000;
const settleMs = 60_000;

/** Kills and suspends processes that run jobs every second, lets them settle, and checks ledger and journal. */
export async function runCronChaos({ onKill, ...run }: CronChaosRun): Promise<CronChaosResult> {
  const { database, kills, seed, jobs: count, jumps } = run;
  const base = await mkdtemp(join(tmpdir(), 'mortise-chaos-cron-'));
  const journal = join(base, 'journal');
  await writeFile(journal, '');
  const store = await createTestDatabase(database);
  const replicas = database === 'sqlite' ? 1 : 2;
  const folders = Array.from({ length: replicas }, (_, index) => join(base, `replica-${index}`));
  for (const folder of folders) await installSink(folder, journal);
  const clocks = new Map<string, ShiftedClock>();
  if (jumps > 0) for (const folder of folders) clocks.set(folder, await openClock(join(folder, 'clock')));
  const file = store.settings.dialect === 'sqlite' ? { MORTISE_DATABASE_FILE: store.settings.file } : store.env;
  const boot = (folder: string): Promise<ServerProcess> =>
    startServer({
      folder,
      plugins: { version: 1, plugins: Object.fromEntries(plugins.map((key) => [key, { enabled: true }])) },
      database: file,
      env: { MORTISE_CRON_LEASE_SECONDS: String(leaseSeconds), ...clocks.get(folder)?.env },
      limitMs: 60_000,
    });
  const planned = planJobs(seed, count, { catchUp: jumps === 0 });
  const servers = new Map<string, ServerProcess>();
  try {
    for (const folder of folders) servers.set(folder, await boot(folder));
    for (const job of planned) await request(servers, '/cron/jobs', jobBody(job));
    const random = randomStream(seed, 'cron kills');
    const figures = await disturb({ folders, servers, clocks, boot, kills, jumps, onKill, random });
    for (const { id } of planned) await request(servers, `/cron/jobs/${id}/pause`);
    const reader =
      store.settings.dialect === 'sqlite'
        ? openSqlite(store.settings.file)
        : await openPostgres(store.settings.connection as Parameters<typeof openPostgres>[0]);
    try {
      await settled(reader);
      const lines = (await readFile(journal, 'utf8')).trim().split('\n');
      const report = await checkLedger(reader, planned, lines);
      return { ...run, ...figures, ...report, ok: report.violations.length === 0 };
    } finally {
      await reader.close();
    }
  } finally {
    await Promise.all([...servers.values()].map((server) => server.dispose()));
    await store.drop();
    await rm(base, { recursive: true, force: true });
  }
}

interface Disturbance {
  readonly folders: readonly string[];
  readonly servers: Map<string, ServerProcess>;
  readonly clocks: ReadonlyMap<string, ShiftedClock>;
  readonly boot: (folder: string) => Promise<ServerProcess>;
  readonly kills: number;
  readonly jumps: number;
  readonly onKill: ((killed: number) => void) | undefined;
  readonly random: RandomStream;
}

/** Kills and restarts a random process at a random moment; with two processes, one is occasionally suspended. */
async function disturb({ folders, servers, clocks, boot, kills, jumps, onKill, random }: Disturbance) {
  let suspended = 0;
  let jumped = 0;
  for (let killed = 1; killed <= kills; killed += 1) {
    await sleep(random.between(200, 3_000));
    const folder = folders[random.between(0, folders.length - 1)] ?? '';
    const server = servers.get(folder);
    if (!server) continue;
    const clock = clocks.get(folder);
    if (clock && jumped < (jumps * killed) / kills) {
      await setClock(clock, random);
      jumped += 1;
    }
    if (folders.length > 1 && random.chance(0.3)) {
      server.child.kill('SIGSTOP');
      await sleep(leaseSeconds * 1_000 + random.between(500, 2_000));
      server.child.kill('SIGCONT');
      suspended += 1;
      await sleep(random.between(0, 1_000));
    }
    await server.end('SIGKILL');
    await sleep(random.between(0, 2_000));
    servers.set(folder, await boot(folder));
    onKill?.(killed);
  }
  return { killed: kills, suspended, jumped };
}

/** The wall clock of the processes of a folder. */
interface ShiftedClock {
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
  shiftMs: number;
}

async function openClock(file: string): Promise<ShiftedClock> {
  await writeFile(file, '0');
  const preload = new URL('./shift-clock.js', import.meta.url).href;
  return { file, env: { NODE_OPTIONS: `--import=${preload}`, CHAOS_CLOCK_FILE: file }, shiftMs: 0 };
}

/**
 * Sets a clock forward permanently, or back for some seconds, during which nothing is due on SQLite, because the slots
 * already have an outcome.
 */
async function setClock(clock: ShiftedClock, random: RandomStream): Promise<void> {
  if (random.chance(0.5)) {
    await shiftBy(clock, hourMs);
    return;
  }
  await shiftBy(clock, -hourMs);
  await sleep(random.between(500, 3_000));
  await shiftBy(clock, hourMs);
}

async function shiftBy(clock: ShiftedClock, ms: number): Promise<void> {
  clock.shiftMs += ms;
  const next = `${clock.file}.next`;
  await writeFile(next, String(clock.shiftMs));
  await rename(next, clock.file);
}

/** A request to any server. */
async function request(servers: ReadonlyMap<string, ServerProcess>, path: string, body?: object): Promise<void> {
  const [server] = servers.values();
  if (!server) throw new Error('no server is running');
  const response = await (body ? server.post(path, body) : server.fetch(path, { method: 'POST' }));
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
}

async function settled(reader: DatabaseReader): Promise<void> {
  const table = reader.dialect === 'sqlite' ? 'cron_runs' : 'cron.runs';
  await until(
    'all runs to end',
    async () => {
      await sleep(200);
      const rows = await reader.rows(`select 1 from ${table} where status in ('queued', 'running') limit 1`);
      return rows.length === 0;
    },
    settleMs,
  );
}
