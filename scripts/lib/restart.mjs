/** The server requests a restart (EX_TEMPFAIL of sysexits.h). */
const restartRequested = 75;
const crashSignals = new Set(['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGTRAP', 'SIGFPE']);

/** Enough to disable two crashing plugins in turn, and then all optional plugins. */
export const restartsAllowed = 3;
/** Window in milliseconds in which restarts are counted. */
const restartWindow = 600_000;

/**
 * @typedef {{ code: number | null, signal: string | null }} End how the server ended
 */

/**
 * @param {End} end
 * @returns {boolean} whether it crashed, so that a restart may help
 */
export function isWorthRestart({ code, signal }) {
  return signal === null ? code === restartRequested : crashSignals.has(signal);
}

/**
 * @param {End} end
 * @returns {string} a readable description
 */
export function describeEnd({ code, signal }) {
  if (signal === 'SIGKILL') return 'the server was killed by SIGKILL, from outside or for lack of memory';
  if (signal !== null) return `the server ended by ${signal}`;
  if (code === restartRequested) return `the server ended with code ${code}: it failed and requests a restart`;
  return `the server ended with code ${code}`;
}

/**
 * Limits the number of restarts within some minutes, so that a server that always crashes is not restarted forever.
 * @param {() => number} [now] milliseconds
 */
export function createRestartAllowance(now = Date.now) {
  /** @type {readonly number[]} */
  let taken = [];
  return {
    /**
     * @param {End} end
     * @returns {number} the number of this restart within the window, from 1; 0 when it is not allowed
     */
    take(end) {
      if (!isWorthRestart(end)) return 0;
      taken = taken.filter((at) => now() - at < restartWindow);
      if (taken.length >= restartsAllowed) return 0;
      taken = [...taken, now()];
      return taken.length;
    },
  };
}
