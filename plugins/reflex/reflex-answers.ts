import type { GateLayerEntry, GateOverrideKey } from 'mortise/contracts/gate';
import type { ObservationInput } from 'mortise/sdk';
import type { Cause } from './cause.js';

/** One override that was changed, or asked for without effect. */
export interface Applied {
  readonly key: GateOverrideKey;
  readonly value: GateLayerEntry['value'];
  readonly old: GateLayerEntry['value'];
  readonly kind: 'changed' | 'extended' | 'none';
}

/** The rejections of an input, as its answer lists them. */
export type Rejected = readonly { readonly key: string; readonly reason: string }[];

/** The switches that everybody should hear of. */
export interface Modes {
  readonly emergency_mode: boolean;
  readonly force_low_model: boolean;
}

export interface Answer {
  readonly applied: readonly Applied[];
  readonly rejected: Rejected;
  readonly reason: string;
  readonly ttlSec: number | null;
  /** Epoch milliseconds. */
  readonly expiresAt: number | null;
  readonly revision: number;
}

export interface AnswersPorts {
  /** Publishes as a continuation of what was asked. */
  readonly publish: (cause: Cause, observation: ObservationInput) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** What the reflex says of what it did: to every input and every end, and to all when a switch has moved. */
export class ReflexAnswers {
  readonly #ports: AnswersPorts;

  constructor(ports: AnswersPorts) {
    this.#ports = ports;
  }

  applied(cause: Cause, { applied, rejected, reason, ttlSec, expiresAt, revision }: Answer): void {
    this.#tell(cause, 'tuning_applied', {
      scope: 'global',
      applied_overrides: Object.fromEntries(applied.map(({ key, value }) => [key, value])),
      rejected_overrides: rejected,
      accepted: applied.length > 0,
      reason,
      ttl_sec: ttlSec,
      expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
      revision,
    });
  }

  /** Nothing when neither switch has moved. */
  modes(cause: Cause, before: Modes, after: Modes, reason: string): void {
    if (after.emergency_mode === before.emergency_mode && after.force_low_model === before.force_low_model) return;
    this.#tell(cause, 'system_mode_changed', { mode: after, reason });
  }

  #tell(cause: Cause, kind: string, data: Readonly<Record<string, unknown>>): void {
    this.#ports.publish(cause, {
      obs_type: 'control',
      source_name: 'system:reflex',
      source_kind: 'internal',
      ingress: 'internal',
      actor: { actor_type: 'system', actor_id: 'system' },
      payload: { kind, data: { ...data, ts: new Date(this.#ports.now()).toISOString() } },
    });
  }
}
