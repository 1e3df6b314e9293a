import { writeSync } from 'node:fs';

/**
 * Standard error for a launcher that outlives it: what a full disk or a reader who went does not take is lost, and the
 * server that is looked after goes on.
 */
export const standardError = {
  /** @param {string} text */
  write(text) {
    try {
      writeSync(2, text);
    } catch {
      // There is nowhere else to say it.
    }
  },
};
