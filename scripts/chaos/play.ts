import type { ServerProcess, ServerProcessOptions } from 'mortise/sdk/testing';
import type { Violation } from './checker/evidence.js';
import type { Acknowledgement } from './load/acknowledgement.js';
import { runClients } from './load/run-clients.js';
import type { ChaosRun } from './options.js';
import { type Kill, planKills } from './plan/kills.js';
import { planSpells } from './plan/spells.js';
import type { Backend } from './stage/backend.js';
import { castSpells } from './stage/cast-spells.js';
import type { Children } from './stage/children.js';
import { createDoors } from './stage/doors.js';
import { liveAndDie } from './stage/live-and-die.js';
import type { Stage } from './stage/open-stage.js';
import { watchInvariants } from './watch-invariants.js';

/** Everything that a run is played with. */
export interface Scene {
  readonly run: ChaosRun;
  readonly stage: Stage;
  /** Null: there is none whose mood could change. */
  readonly backend: Backend | null;
  readonly settings: ServerProcessOptions;
  readonly children: Children;
  folderOf(slot: number): string;
}

/** What happened while processes were killed. */
export interface Played {
  /** The last life of each process, serving. */
  readonly servers: readonly ServerProcess[];
  readonly acknowledgements: readonly Acknowledgement[];
  readonly killed: Readonly<Record<Kill['phase'], number>>;
  /** How often the backend was in each mood. */
  readonly spells: Readonly<Record<string, number>>;
  /** How often the invariants were looked at. */
  readonly looks: number;
  readonly violations: readonly Violation[];
}

const CLIENTS_PER_PROCESS = 8;

/** Kills processes as planned while clients store and the backend changes its mood. At the end it is well again. */
export async function play({ run, stage, backend, settings, children, folderOf }: Scene): Promise<Played> {
  const { kills, seed, life } = run;
  const { slots } = stage;
  const doors = createDoors();
  const over = new AbortController();
  const watch = watchInvariants(stage);
  const acknowledgements: Acknowledgement[] = [];
  const killed = { boot: 0, serving: 0 };

  const casting = backend === null ? {} : castSpells(planSpells(seed), backend, over.signal);
  const asking = runClients({
    seed,
    clients: CLIENTS_PER_PROCESS * slots,
    doors,
    signal: over.signal,
    note: (acknowledgement) => void acknowledgements.push(acknowledgement),
  });
  const died = ({ phase }: Kill): void => {
    killed[phase] += 1;
    watch.died();
    run.onKill?.(killed.boot + killed.serving);
  };
  const lives = Array.from({ length: slots }, (_, slot) => {
    const count = Math.floor(kills / slots) + (slot < kills % slots ? 1 : 0);
    const own = { number: slot, folder: folderOf(slot), settings, doors, children, died };
    return liveAndDie(own, planKills({ seed, slot, count, life }));
  });
  try {
    const servers = await Promise.all(lives);
    return { servers, acknowledgements, killed, ...(await watch.end()), spells: await end() };
  } catch (error) {
    await end();
    throw error;
  }

  async function end() {
    over.abort();
    doors.lock();
    await asking;
    return casting;
  }
}
