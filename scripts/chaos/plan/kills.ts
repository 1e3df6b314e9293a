import { type RandomStream, randomStream } from './random-stream.js';

/**
 * When a process is killed. `boot`: so many milliseconds after it was started. `serving`: so many milliseconds after it
 * gave so many answers.
 */
export type Kill =
  | { readonly phase: 'boot'; readonly afterMs: number }
  | { readonly phase: 'serving'; readonly answers: number; readonly afterMs: number };

/** A start that is killed is not followed by many of the same: a plugin in which several starts in a row end is left out. */
const MOST_BOOT_KILLS_IN_A_ROW = 2;
const LONGEST_BOOT_MS = 700;
const BOOT_SHARE = 0.15;
/** Some live long enough to renew leases, and to see what they postponed become due. */
const LONG_SHARE = 0.05;
const LONG_LIVES = 10;

export interface Fate {
  readonly seed: number;
  /** Which of the processes it is. */
  readonly slot: number;
  readonly count: number;
  /** Answers that it gives before it is killed, on average; the few long lives left out. */
  readonly life: number;
}

function serving(random: RandomStream, life: number): Kill {
  const answers = random.chance(LONG_SHARE) ? life * LONG_LIVES : random.between(0, 2 * life);
  return { phase: 'serving', answers, afterMs: random.between(0, 40) };
}

/** The deaths of one process, in order. */
export function planKills({ seed, slot, count, life }: Fate): readonly Kill[] {
  const random = randomStream(seed, `kills of process ${slot}`);
  const kills: Kill[] = [];
  let inARow = 0;
  for (let made = 0; made < count; made += 1) {
    // The first start of all makes the tables: the others need not wait for it to succeed at last.
    const mayBoot = made > 0 && inARow < MOST_BOOT_KILLS_IN_A_ROW;
    const isBoot = random.chance(BOOT_SHARE) && mayBoot;
    inARow = isBoot ? inARow + 1 : 0;
    kills.push(isBoot ? { phase: 'boot', afterMs: random.between(20, LONGEST_BOOT_MS) } : serving(random, life));
  }
  return kills;
}
