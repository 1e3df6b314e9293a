import type { GateLayerEntry, GateOverrideKey } from 'mortise/contracts/gate';
import type { ObservationInput } from 'mortise/sdk';
import type { Cause } from './cause.js';

/** One accepted override: its effective value changed, its TTL was extended, or it had no effect. */
export interface Applied {
  readonly key: GateOverrideKey;
  readonly value: GateLayerEntry['value'];
  readonly old: GateLayerEntry['value'];
  readonly kind: 'changed' | 'extended' | 'none';
}

/** The rejected overrides of an input. */
export type Rejected = readonly { readonly key: string; readonly reason: string }[];

/** The switches whose changes are announced. */
export interface Modes {
  readonly emergency_mode: boolean;
  readonly force_low_model: boolean;
}

interface Answer {
  readonly applied: readonly Applied[];
  readonly rejected: Rejected;
  readonly reason: string;
  readonly ttlSec: number | null;
  /** Epoch milliseconds. */
  readonly expiresAt: number | null;
  readonly revision: number;
}

export interface AnswersDeps {
  /** Publishes as a continuation of the cause. */
  readonly publish: (cause: Cause, observation: ObservationInput) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Publishes `tuning_applied` for every input and expiry, and `system_mode_changed` when a switch changed. */
export class ReflexAnswers {
  readonly #deps: AnswersDeps;

  constructor(deps: AnswersDeps) {
    this.#deps = deps;
  }

  applied(cause: Cause, { applied, rejected, reason, ttlSec, expiresAt, revision }: Answer): void {
    this.#publish(cause, 'tuning_applied', {
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

  /** Publishes nothing when neither switch changed. */
  modes(cause: Cause, before: Modes, after: Modes, reason: string): void {
    if (after.emergency_mode === before.emergency_mode && after.force_low_model === before.force_low_model) return;
    this.#publish(cause, 'system_mode_changed', { mode: after, reason });
  }

  #publish(cause: Cause, kind: string, data: Readonly<Record<string, unknown>>): void {
    this.#deps.publish(cause, {
      obs_type: 'control',
      source_name: 'system:reflex',
      source_kind: 'internal',
      ingress: 'internal',
      actor: { actor_type: 'system', actor_id: 'system' },
      payload: { kind, data: { ...data, ts: new Date(this.#deps.now()).toISOString() } },
    });
  }
}
