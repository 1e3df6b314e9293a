import type { Alert, ObservationInput } from 'mortise/sdk';
import type { AlertCode } from './conversation.js';

/** How long one subject keeps quiet after an alert, milliseconds. */
const quietMs = 60_000;
const subjectLimit = 1_000;

const table: Readonly<Record<AlertCode, { severity: Alert['severity']; message: string }>> = {
  worker_error: { severity: 'medium', message: 'An observation could not be handled.' },
  inbox_overflow: {
    severity: 'medium',
    message: 'The inbox of a session is full; its newest observation was refused.',
  },
  input_bus_backpressure: { severity: 'medium', message: 'The input bus is full; an observation was refused.' },
};

/** Raises each alert at most once a minute for a subject (a session, a source). */
export class AlertLimiter {
  readonly #quietUntil = new Map<string, number>();
  readonly #now: () => number;
  readonly #emit: (alert: Alert) => void;

  /** @param now monotonic milliseconds */
  constructor(now: () => number, emit: (alert: Alert) => void) {
    this.#now = now;
    this.#emit = emit;
  }

  raise(code: AlertCode, subject: string, data: Readonly<Record<string, unknown>>): void {
    const name = `${code}\n${subject}`;
    const now = this.#now();
    if ((this.#quietUntil.get(name) ?? 0) > now) return;
    this.#quietUntil.delete(name);
    this.#quietUntil.set(name, now + quietMs);
    const [oldest] = this.#quietUntil.keys();
    if (this.#quietUntil.size > subjectLimit && oldest !== undefined) this.#quietUntil.delete(oldest);
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
