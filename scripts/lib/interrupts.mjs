import { Interrupted } from './failure.mjs';

/** The signals that ask a process to end. */
export const endSignals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/**
 * Ends the set-up cleanly on a signal: it is forwarded to the running children, and once they have exited the work throws
 * Interrupted, so that locks are released and no orphan continues to write into node_modules.
 */
export function watchInterrupts() {
  /** @type {NodeJS.Signals | undefined} */
  let received;
  /** @type {Set<import('node:child_process').ChildProcess>} */
  const children = new Set();
  /** @param {NodeJS.Signals} signal */
  const onSignal = (signal) => {
    received ??= signal;
    for (const child of children) child.kill(signal);
  };
  for (const signal of endSignals) process.on(signal, onSignal);
  return {
    /** @param {import('node:child_process').ChildProcess} child */
    track(child) {
      children.add(child);
      child.once('close', () => children.delete(child));
    },
    throwIfReceived() {
      if (received) throw new Interrupted(received);
    },
    stop() {
      for (const signal of endSignals) process.off(signal, onSignal);
    },
  };
}
