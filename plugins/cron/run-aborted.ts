/**
 * Why a run is aborted. `lost`: another process has taken it over; `stopping`: this process ends. Neither writes the run's
 * end.
 */
type AbortKind = 'timeout' | 'cancelled' | 'lost' | 'stopping';

/** The reason of a run's abort signal. */
export class RunAborted extends Error {
  readonly kind: AbortKind;

  constructor(kind: AbortKind, message: string) {
    super(message);
    this.name = 'RunAborted';
    this.kind = kind;
  }
}

/** The reason that a signal was aborted with; undefined while it is not. */
export function abortOf(signal: AbortSignal): RunAborted | undefined {
  if (!signal.aborted) return undefined;
  return signal.reason instanceof RunAborted ? signal.reason : new RunAborted('stopping', 'the run was aborted');
}
