import type { ServerProcess, ServerProcessOptions } from 'mortise/sdk/testing';
import type { Violation } from './checker/evidence.js';
import type { Acknowledgement } from './load/acknowledgement.js';
import { runClients } from './load/run-clients.js';
import type { ChaosRun } from './options.js';
import { planFaults } from './plan/faults.js';
import { type Kill, planKills } from './plan/kills.js';
import { applyFaults, type Backend } from './stage/backend.js';
import type { Stage } from './stage/open-stage.js';
import { type Children, runLives } from './stage/process-lives.js';
import { createServerPool } from './stage/server-pool.js';
import { watchInvariants } from './watch-invariants.js';

/** The components of a run. */
export interface Scene {
  readonly run: ChaosRun;
  readonly stage: Stage;
  /** Null for the local backend, which has no faults. */
  readonly backend: Backend | null;
  readonly settings: ServerProcessOptions;
  readonly children: Children;
  folderOf(slot: number): string;
}

/** The result of the killing phase. */
export interface Played {
  /** The running servers at the end. */
  readonly servers: readonly ServerProcess[];
  readonly acknowledgements: readonly Acknowledgement[];
  readonly killed: Readonly<Record<Kill['phase'], number>>;
  /** Number of periods of each fault. */
  readonly faults: Readonly<Record<string, number>>;
  /** Number of checks of the invariants. */
  readonly checks: number;
  readonly violations: readonly Violation[];
}

const CLIENTS_PER_PROCESS = 8;

/** Kills processes as planned while clients store and the backend has faults. At the end it has none. */
export async function play({ run, stage, backend, settings, children, folderOf }: Scene): Promise<Played> {
  const { kills, seed, life } = run;
  const { slots } = stage;
  const pool = createServerPool();
  const ended = new AbortController();
  const watch = watchInvariants(stage);
  const acknowledgements: Acknowledgement[] = [];
  const killed = { boot: 0, serving: 0 };

  const applying = backend === null ? {} : applyFaults(planFaults(seed), backend, ended.signal);
  const clients = runClients({
    seed,
    clients: CLIENTS_PER_PROCESS * slots,
    pool,
    signal: ended.signal,
    note: (acknowledgement) => void acknowledgements.push(acknowledgement),
  });
  const died = ({ phase }: Kill): void => {
    killed[phase] += 1;
    watch.died();
    run.onKill?.(killed.boot + killed.serving);
  };
  const lives = Array.from({ length: slots }, (_, slot) => {
    const count = Math.floor(kills / slots) + (slot < kills % slots ? 1 : 0);
    const own = { number: slot, folder: folderOf(slot), settings, pool, children, died };
    return runLives(own, planKills({ seed, slot, count, life }));
  });
  try {
    const servers = await Promise.all(lives);
    return { servers, acknowledgements, killed, ...(await watch.end()), faults: await end() };
  } catch (error) {
    await end();
    throw error;
  }

  async function end() {
    ended.abort();
    pool.shutDown();
    await clients;
    return applying;
  }
}
