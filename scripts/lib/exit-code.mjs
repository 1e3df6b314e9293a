import { constants } from 'node:os';

/**
 * The exit code that shells report for a process ended by a signal: 128 + its number.
 * @param {NodeJS.Signals} signal
 */
export function exitCodeOfSignal(signal) {
  return 128 + (constants.signals[signal] ?? 0);
}
