/** The result of a backend call with regard to the availability of the backend. */
export type CallOutcome = 'ok' | 'unavailable' | 'other';

/** Stops calls to a backend that is unavailable, and allows them again once it has recovered. */
export interface CircuitBreaker {
  readonly state: 'closed' | 'open' | 'half_open';
  /** Whether a call may be made now. While half open, one trial call is allowed. */
  allows(): boolean;
  record(outcome: CallOutcome, options?: { readonly isMisconfigured?: boolean }): void;
  /** Records the result of a health check. */
  recordProbe(isHealthy: boolean): void;
  /** Called each time the circuit closes after it was open. @returns removes the listener. */
  onClosed(run: () => void): () => void;
}

const MAX_CONSECUTIVE = 5;
const WINDOW = 20;

/**
 * Opens after 5 unavailable results in a row, or when half of the last 20 were unavailable. The first success closes it.
 * A backend that rejects the key or the address still passes its health check, so each passed check only allows one
 * trial call, and only a successful call closes the circuit.
 */
export function createCircuitBreaker(): CircuitBreaker {
  let state: CircuitBreaker['state'] = 'closed';
  let results: boolean[] = [];
  let consecutive = 0;
  let isMisconfigured = false;
  const listeners = new Set<() => void>();

  const close = (): void => {
    const wasOpen = state !== 'closed';
    state = 'closed';
    isMisconfigured = false;
    results = [];
    consecutive = 0;
    if (wasOpen) for (const run of listeners) run();
  };

  return {
    get state() {
      return state;
    },
    allows() {
      if (state === 'half_open') {
        state = 'open';
        return true;
      }
      return state === 'closed';
    },
    record(outcome, options) {
      if (outcome === 'ok' && state !== 'closed') return close();
      if (outcome === 'unavailable' && options?.isMisconfigured !== undefined)
        isMisconfigured = options.isMisconfigured;
      if (state !== 'closed') return;
      consecutive = outcome === 'unavailable' ? consecutive + 1 : 0;
      results = [...results, outcome === 'unavailable'].slice(-WINDOW);
      const failed = results.filter(Boolean).length;
      if (consecutive >= MAX_CONSECUTIVE || (results.length === WINDOW && failed * 2 >= WINDOW)) state = 'open';
    },
    recordProbe(isHealthy) {
      if (state === 'closed') return;
      if (!isHealthy) state = 'open';
      else if (isMisconfigured) state = 'half_open';
      else close();
    },
    onClosed(run) {
      listeners.add(run);
      return () => void listeners.delete(run);
    },
  };
}
