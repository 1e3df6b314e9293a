/** The server asks to be started again (EX_TEMPFAIL of sysexits.h). */
const startAgain = 75;
/** The server's watchdog ended it because its event loop was blocked. */
const watchdog = 86;
const crashSignals = new Set(['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGTRAP', 'SIGFPE']);

/** Enough to leave out two guilty plugins one after the other, and then all that are not required. */
export const restartsAllowed = 3;
/** Within which they are counted, milliseconds. */
const restartWindow = 600_000;

/**
 * @typedef {{ code: number | null, signal: string | null }} End how the server ended
 */

/**
 * @param {End} end
 * @returns {boolean} whether it crashed, so that another try may help
 */
export function isWorthRestart({ code, signal }) {
  return signal === null ? code === startAgain || code === watchdog : crashSignals.has(signal);
}

/**
 * @param {End} end
 * @returns {string} what it says about the server, for people
 */
export function describeEnd({ code, signal }) {
  if (signal === 'SIGKILL') return 'the server was killed by SIGKILL, from outside or for want of memory';
  if (signal !== null) return `the server ended by ${signal}`;
  if (code === startAgain) return `the server ended with code ${code}: it failed and asks to be started again`;
  if (code === watchdog) return `the server ended with code ${code}: its event loop was blocked`;
  return `the server ended with code ${code}`;
}

/**
 * Allows a few restarts within some minutes: a server that ends more often would do so for ever.
 * @param {() => number} [now] milliseconds
 */
export function createRestartAllowance(now = Date.now) {
  /** @type {readonly number[]} */
  let taken = [];
  return {
    /**
     * @param {End} end
     * @returns {number} which restart within the window this is, from 1; 0 when there is none to be had
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
