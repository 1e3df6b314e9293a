import { standardError } from './say.mjs';

/** A step that takes longer than this says again that it is still at work, in milliseconds. */
const reminderEvery = 15_000;

/**
 * Calm progress on stderr: one line when a step begins, one when it is done, a reminder on slow machines.
 * A step that is skipped is not mentioned.
 * @param {{ write(line: string): unknown }} [output]
 * @param {() => number} [now] milliseconds
 */
export function createProgress(output = standardError, now = Date.now) {
  /** @param {string} line */
  const say = (line) => output.write(`mortise: ${line}\n`);
  return {
    say,
    /**
     * @template T
     * @param {string} doing for example "installing dependencies"
     * @param {() => Promise<T>} work
     * @returns {Promise<T>}
     */
    async step(doing, work) {
      const startedAt = now();
      const elapsed = () => `${((now() - startedAt) / 1000).toFixed(1)} s`;
      say(`${doing} ...`);
      const reminder = setInterval(() => say(`still ${doing} (${elapsed()})`), reminderEvery);
      try {
        const result = await work();
        say(`${doing}: done in ${elapsed()}`);
        return result;
      } finally {
        clearInterval(reminder);
      }
    },
  };
}
