import { writeSync } from 'node:fs';

/**
 * Standard error for a launcher that must outlive it: output that a full disk or a closed pipe rejects is dropped, and the
 * supervised server keeps running.
 */
export const standardError = {
  /** @param {string} text */
  write(text) {
    try {
      writeSync(2, text);
    } catch {
      // There is nowhere else to report it.
    }
  },
};
