import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestDatabase, type ServerProcess, startServer, until } from 'mortise/sdk/testing';
import { checkTurns, type SentRequest, type TurnReport } from '../checker/check-turns.js';
import { openPostgres, openSqlite } from '../checker/open-database.js';
import { type DatabaseReader, table } from '../checker/read-database.js';
import type { DatabaseKind } from '../options.js';
import { randomStream } from '../plan/random-stream.js';
import { createChildren } from '../stage/process-lives.js';
import { askForTurns } from './ask-for-turns.js';
import { installTurns } from './turn-plugin.js';

interface TurnChaosRun {
  readonly database: DatabaseKind;
  readonly kills: number;
  readonly seed: number;
  readonly onKill?: (killed: number) => void;
}

export interface TurnChaosResult extends TurnReport, Omit<TurnChaosRun, 'onKill'> {
  readonly ok: boolean;
  readonly killed: number;
  readonly requests: number;
  /** Longest time in milliseconds from a kill to the end of the turns that it interrupted. */
  readonly longestRecoveryMs: number;
}

const plugins = ['logbook', 'sessions', 'conversation', 'models', 'agent', 'channel-console', 'chaos-turns'];
const sessions = 6;
const bootMs = 60_000;
/** A turn of a dead process must have a final status after this time. */
const recoveryMs = 35_000;

/** Kills processes in the middle of turns, and checks turns, messages and effects after each start and at the end. */
export async function runTurnChaos({ onKill, ...run }: TurnChaosRun): Promise<TurnChaosResult> {
  const { database, kills, seed } = run;
  const base = await mkdtemp(join(tmpdir(), 'mortise-chaos-turns-'));
  const journal = join(base, 'journal');
  await writeFile(journal, '');
  const store = await createTestDatabase(database);
  const file = store.settings.dialect === 'sqlite' ? { MORTISE_DATABASE_FILE: store.settings.file } : store.env;
  const folders = Array.from({ length: database === 'sqlite' ? 1 : 2 }, (_, index) => join(base, `replica-${index}`));
  for (const folder of folders) await installTurns(folder, journal);
  const boot = (folder: string): Promise<ServerProcess> =>
    startServer({
      folder,
      plugins: { version: 1, plugins: Object.fromEntries(plugins.map((key) => [key, { enabled: true }])) },
      database: file,
      env: { MORTISE_SESSION_CLAIM_TTL_SECONDS: '1', MORTISE_SESSION_LEASE_SWEEP_SECONDS: '0.2' },
      limitMs: bootMs,
      onSpawn: (child) => children.add(child),
    });
  const children = createChildren();
  const servers = new Map<string, ServerProcess>();
  const stopping = new AbortController();
  const sent: SentRequest[] = [];
  try {
    for (const folder of folders) servers.set(folder, await boot(folder));
    const reader =
      store.settings.dialect === 'sqlite'
        ? openSqlite(store.settings.file)
        : await openPostgres(store.settings.connection as Parameters<typeof openPostgres>[0]);
    const clients = Array.from({ length: sessions }, (_, index) => {
      const random = randomStream(seed, `client ${index}`);
      const server = () => [...servers.values()][random.between(0, servers.size - 1)];
      return askForTurns({ session: `s${index}`, random, server, stopped: stopping.signal, sent });
    });
    const random = randomStream(seed, 'turn kills');
    const found: string[] = [];
    let longestRecoveryMs = 0;
    try {
      for (let killed = 1; killed <= kills; killed += 1) {
        await sleep(random.between(200, 1_500));
        const folder = folders[random.between(0, folders.length - 1)] ?? '';
        const server = servers.get(folder);
        const running = await runningTurns(reader);
        servers.delete(folder);
        await server?.end('SIGKILL');
        const from = performance.now();
        servers.set(folder, await boot(folder));
        found.push(...(await recovered(reader, running, `kill ${killed}`)));
        longestRecoveryMs = Math.max(longestRecoveryMs, Math.round(performance.now() - from));
        onKill?.(killed);
      }
      // Turns must also run after the last kill.
      await sleep(1_000);
      stopping.abort();
      await Promise.all(clients);
      found.push(...(await recovered(reader, await runningTurns(reader), 'the end')));
      const lines = (await readFile(journal, 'utf8')).split('\n').filter((line) => line !== '');
      const report = await checkTurns(reader, sent, lines);
      const violations = [...found, ...report.violations];
      const figures = { killed: kills, requests: sent.length, longestRecoveryMs };
      return { ...run, ...figures, ...report, violations, ok: violations.length === 0 };
    } finally {
      stopping.abort();
      await Promise.all(clients);
      await reader.close();
    }
  } finally {
    await Promise.all([...servers.values()].map((server) => server.dispose()));
    children.end();
    await store.drop();
    await rm(base, { recursive: true, force: true });
  }
}

async function runningTurns(reader: DatabaseReader): Promise<readonly string[]> {
  const rows = await reader.rows<{ readonly turn_id: string }>(
    `select turn_id from ${table(reader, 'realtime', 'turns')} where status = 'running'`,
  );
  return rows.map(({ turn_id }) => turn_id);
}

/** Waits until turns have ended. @returns the violations: turns that keep running, sessions with two running turns */
async function recovered(reader: DatabaseReader, turns: readonly string[], when: string): Promise<readonly string[]> {
  let left: readonly string[] = turns;
  const ended = await until(
    'turns of a killed process to end',
    async () => {
      const running = new Set(await runningTurns(reader));
      left = turns.filter((id) => running.has(id));
      if (left.length > 0) await sleep(50);
      return left.length === 0;
    },
    recoveryMs,
  ).then(
    () => true,
    () => false,
  );
  const twice = await reader.rows<{ readonly session_id: string }>(
    `select session_id from ${table(reader, 'realtime', 'turns')} where status = 'running'
     group by session_id having count(*) > 1`,
  );
  return [
    ...(ended ? [] : left.map((id) => `${when}: ${id} still runs`)),
    ...twice.map(({ session_id: id }) => `${when}: ${id} has two running turns`),
  ];
}
