/**
 * One Ctrl-C arrives several times: from the terminal, which signals the whole group, and from npm, which passes it on.
 * To the server a second one means "exit at once", so repeats within this time are dropped, in milliseconds.
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
