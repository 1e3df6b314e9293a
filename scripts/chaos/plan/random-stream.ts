import { createHash } from 'node:crypto';
import { seededRandom } from 'mortise/sdk/testing';

/** Seeded random numbers: each name gives an independent sequence. */
export interface RandomStream {
  /** From 0 to below 1. */
  next(): number;
  /** True in this share of cases, 0 to 1. */
  chance(share: number): boolean;
  /** An integer, both bounds inclusive. */
  between(least: number, most: number): number;
  pick<T>(items: readonly [T, ...T[]]): T;
}

export function randomStream(seed: number, name: string): RandomStream {
  const own = createHash('sha256').update(`${seed} ${name}`).digest().readUInt32LE();
  const next = seededRandom(own);
  return {
    next,
    chance: (share) => next() < share,
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    pick: (items) => items[Math.floor(next() * items.length)] ?? items[0],
  };
}
