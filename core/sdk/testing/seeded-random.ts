/** Random numbers from 0 to below 1, deterministic for a seed (Mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * The number of rounds of a repeated or randomised test: `short` in `npm test`, `long` in `npm run test:long`, which runs
 * the files that call this.
 */
export function rounds<T>(short: T, long: T): T {
  return process.env.MORTISE_TEST_ROUNDS === 'long' ? long : short;
}
