/**
 * One Ctrl-C may arrive several times: from the terminal, which signals the whole group, and from npm, which forwards it.
 * For the server a second one means "exit immediately", so repeats within this time in milliseconds are dropped.
 */
export const repeatWindow = 1_000;

/**
 * @param {(signal: NodeJS.Signals) => void} forward
 * @param {() => number} [now] milliseconds
 * @returns {(signal: NodeJS.Signals) => void} to be called with each signal that arrives
 */
export function createSignalRelay(forward, now = Date.now) {
  /** @type {Map<NodeJS.Signals, number>} */
  const forwardedAt = new Map();
  return (signal) => {
    if (now() - (forwardedAt.get(signal) ?? Number.NEGATIVE_INFINITY) < repeatWindow) return;
    forwardedAt.set(signal, now());
    forward(signal);
  };
}
