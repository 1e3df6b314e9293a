/** The server asks to be started again (EX_TEMPFAIL of sysexits.h). */
const startAgain = 75;
/** The server's watchdog ended it because its event loop was blocked. */
const watchdog = 86;
const crashSignals = new Set(['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGTRAP', 'SIGFPE']);
/** A restarted server that ends this way again this soon would do so for ever, in milliseconds. */
const restartAgainAfter = 60_000;

/**
 * @param {{ code: number | null, signal: string | null }} end how the server ended
 * @returns {boolean} whether another try may help
 */
export function isWorthRestart({ code, signal }) {
  return signal === null ? code === startAgain || code === watchdog : crashSignals.has(signal);
}

/**
 * Allows one restart per boot. A server that then ran for a minute has booted; its next crash is a new one.
 * @param {() => number} [now] milliseconds
 */
export function createRestartAllowance(now = Date.now) {
  let restartedAt = Number.NEGATIVE_INFINITY;
  return {
    /** @param {{ code: number | null, signal: string | null }} end */
    take(end) {
      if (!isWorthRestart(end) || now() - restartedAt < restartAgainAfter) return false;
      restartedAt = now();
      return true;
    },
  };
}
