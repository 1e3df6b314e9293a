import { type Alert, type ObservationInput, Throttle } from 'mortise/sdk';
import type { AlertCode } from './conversation-ports.js';

/** How long one subject keeps quiet after an alert, milliseconds. */
const quietMs = 60_000;

const table: Readonly<Record<AlertCode, { severity: Alert['severity']; message: string }>> = {
  worker_error: { severity: 'medium', message: 'An observation could not be handled.' },
  inbox_overflow: {
    severity: 'medium',
    message: 'The inbox of a session is full; its newest observation was refused.',
  },
  egress_queue_full: { severity: 'medium', message: 'Too many replies wait for a way out; the newest was refused.' },
  input_bus_backpressure: { severity: 'medium', message: 'The input bus is full; an observation was refused.' },
};

/** Raises each alert at most once a minute for a subject (a session, a source). */
export class AlertLimiter {
  readonly #quiet = new Throttle();
  readonly #now: () => number;
  readonly #emit: (alert: Alert) => void;

  /** @param now monotonic milliseconds */
  constructor(now: () => number, emit: (alert: Alert) => void) {
    this.#now = now;
    this.#emit = emit;
  }

  raise(code: AlertCode, subject: string, data: Readonly<Record<string, unknown>>): void {
    if (!this.#quiet.pass(`${code}\n${subject}`, this.#now(), quietMs)) return;
    this.#emit({ source: 'system:conversation', code, ...table[code], data });
  }
}

/** An alert of the host as the observation that handlers of alerts see. */
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
