import { type Alert, MortiseError, type ObservationInput, Throttle } from 'mortise/sdk';

export type AlertCode = 'worker_error' | 'inbox_overflow' | 'input_bus_backpressure' | 'egress_queue_full';

/** Minimum milliseconds between two alerts of a code about one subject. */
const intervalMs = 60_000;

const table: Readonly<Record<AlertCode, { severity: Alert['severity']; message: string }>> = {
  worker_error: { severity: 'medium', message: 'An observation could not be handled.' },
  inbox_overflow: {
    severity: 'medium',
    message: 'The inbox of a session is full; its newest observation was refused.',
  },
  egress_queue_full: {
    severity: 'medium',
    message: 'The queue of an egress adapter is full; the newest reply was refused.',
  },
  input_bus_backpressure: { severity: 'medium', message: 'The input bus is full; an observation was refused.' },
};

/** Raises each alert at most once a minute per subject (a session, a source, an adapter). */
export class AlertLimiter {
  readonly #throttle = new Throttle();
  readonly #now: () => number;
  readonly #emit: (alert: Alert) => void;

  /** @param now monotonic milliseconds */
  constructor(now: () => number, emit: (alert: Alert) => void) {
    this.#now = now;
    this.#emit = emit;
  }

  raise(code: AlertCode, subject: string, data: Readonly<Record<string, unknown>>): void {
    if (!this.#throttle.pass(`${code}\n${subject}`, this.#now(), intervalMs)) return;
    this.#emit({ source: 'system:conversation', code, ...table[code], data });
  }
}

/** Turns an alert of the host into an observation. */
export function alertObservation({ source, severity, code, message, data }: Alert): ObservationInput {
  return {
    obs_type: 'alert',
    source_name: source.slice(0, 128),
    source_kind: 'internal',
    ingress: 'internal',
    actor: { actor_type: 'system', actor_id: 'system' },
    payload: { alert_type: code, severity, message, data: data ?? {} },
  };
}

/** Class or code of an error and its stack frames, never its message: it may quote a user. Coded errors need no frames. */
export function describeFault(error: unknown): { readonly error: string; readonly stack?: readonly string[] } {
  const { name, code, stack } = (error ?? {}) as { name?: unknown; code?: unknown; stack?: unknown };
  const frames =
    typeof stack === 'string' && !(error instanceof MortiseError)
      ? stack.split('\n').filter((line) => /^\s+at /.test(line))
      : [];
  return {
    error: typeof code === 'string' ? code : typeof name === 'string' ? name : 'error',
    ...(frames.length > 0 ? { stack: frames.map((line) => line.trim()) } : {}),
  };
}
