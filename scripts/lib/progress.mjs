import { standardError } from './say.mjs';

/** Interval in milliseconds at which a long step reports that it is still running. */
const reminderIntervalMs = 15_000;

/**
 * Progress on stderr: one line when a step begins, one when it ends, and reminders for slow steps.
 * Skipped steps are not reported.
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
      const reminder = setInterval(() => say(`still ${doing} (${elapsed()})`), reminderIntervalMs);
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
