import { constants } from 'node:os';

/**
 * What a shell reports for a process that a signal ended: 128 + the signal's number.
 * @param {NodeJS.Signals} signal
 */
export function exitCodeOfSignal(signal) {
  return 128 + (constants.signals[signal] ?? 0);
}
