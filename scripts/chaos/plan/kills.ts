import type { BackendKind, ChaosRun, DatabaseKind } from '../options.js';
import { type RandomStream, randomStream } from './random-stream.js';

/**
 * When a process is killed. `boot`: this many milliseconds after its start. `serving`: this many milliseconds after this
 * many responses.
 */
export type Kill =
  | { readonly phase: 'boot'; readonly afterMs: number }
  | { readonly phase: 'serving'; readonly answers: number; readonly afterMs: number };

/** A plugin that was starting in several killed starts in a row is disabled, so these are limited. */
const MAX_CONSECUTIVE_BOOT_KILLS = 2;
const MAX_BOOT_MS = 700;
const BOOT_SHARE = 0.15;
/** A share of processes lives long enough to renew leases and run postponed work. */
const LONG_SHARE = 0.05;
const LONG_LIVES = 10;

interface KillOptions {
  readonly seed: number;
  /** Number of the process. */
  readonly slot: number;
  readonly count: number;
  /** Mean number of responses before a kill, without the few long lives. */
  readonly life: number;
}

function serving(random: RandomStream, life: number): Kill {
  const answers = random.chance(LONG_SHARE) ? life * LONG_LIVES : random.between(0, 2 * life);
  return { phase: 'serving', answers, afterMs: random.between(0, 40) };
}

/** Plans the kills of one process, in order. */
export function planKills({ seed, slot, count, life }: KillOptions): readonly Kill[] {
  const random = randomStream(seed, `kills of process ${slot}`);
  const kills: Kill[] = [];
  let inARow = 0;
  for (let made = 0; made < count; made += 1) {
    // The very first start creates the tables and is never killed.
    const mayBoot = made > 0 && inARow < MAX_CONSECUTIVE_BOOT_KILLS;
    const isBoot = random.chance(BOOT_SHARE) && mayBoot;
    inARow = isBoot ? inARow + 1 : 0;
    kills.push(isBoot ? { phase: 'boot', afterMs: random.between(20, MAX_BOOT_MS) } : serving(random, life));
  }
  return kills;
}

/** Fewer kills where only kills can do harm. */
const weights: Readonly<Record<BackendKind, number>> = { openmemory: 4, local: 1 };

/** Distributes the kills over the runs. */
export function shareKills(
  kills: number,
  databases: readonly DatabaseKind[],
  backends: readonly BackendKind[],
): readonly Pick<ChaosRun, 'database' | 'backend' | 'kills'>[] {
  const places = databases.flatMap((database) => backends.map((backend) => ({ database, backend })));
  let weight = places.reduce((sum, { backend }) => sum + weights[backend], 0);
  let left = kills;
  return places.map(({ database, backend }) => {
    const share = Math.round((left * weights[backend]) / weight);
    weight -= weights[backend];
    left -= share;
    return { database, backend, kills: share };
  });
}
