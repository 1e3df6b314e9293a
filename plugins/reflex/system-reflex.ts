import {
  type GateControl,
  type GateLayer,
  type GateLayerEntry,
  type GateOverrideKey,
  isCodedError,
  type Observation,
  type ObservationInput,
} from 'mortise/sdk';
import type { ControlAction, ControlEntry } from './control-audit.js';
import { Expiries, type Expiry, type ExpiryPorts } from './expiries.js';
import { judgeSuggestion } from './judge-suggestion.js';
import { readTtl } from './read-ttl.js';

export interface SystemReflexPorts {
  readonly gate: Pick<GateControl, 'snapshot' | 'updateOverrides' | 'removeOverride'>;
  readonly audit: { room(rows: number): boolean; add(entry: ControlEntry): void };
  /** Publishes as a continuation of what was asked. */
  readonly publish: (parent: Observation, observation: ObservationInput) => void;
  readonly counted: (action: ControlAction, accepted: boolean) => void;
  readonly monotonic: ExpiryPorts['monotonic'];
  readonly after: ExpiryPorts['after'];
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** The source that an admin's changes come from; nobody outside can name it. */
export const adminSource = 'admin:override';
/** More rows than one input can make. */
const rowsPerInput = 128;

interface Applied {
  readonly key: GateOverrideKey;
  readonly value: GateLayerEntry['value'];
  readonly old: GateLayerEntry['value'];
  readonly kind: 'changed' | 'extended' | 'none';
}

/** The switches that everybody should hear of. */
interface Modes {
  readonly emergency_mode: boolean;
  readonly force_low_model: boolean;
}

/** The rejections of an input, as its answer lists them. */
type Rejected = readonly { readonly key: string; readonly reason: string }[];

/**
 * The one place that changes overrides while the platform runs. Agents suggest, admins order; all of it comes by as
 * CONTROL observations, ends when its time is up, and leaves a row.
 */
export class SystemReflex {
  readonly #ports: SystemReflexPorts;
  readonly #expiries: Expiries;
  /** When a suggestion for a key was last accepted, monotonic milliseconds. */
  readonly #accepted = new Map<GateOverrideKey, number>();

  constructor(ports: SystemReflexPorts) {
    this.#ports = ports;
    this.#expiries = new Expiries({
      monotonic: ports.monotonic,
      after: ports.after,
      expired: (expiry) => this.#expire(expiry),
    });
  }

  /** Takes CONTROL observations; its own answers and unknown kinds are none of its business. */
  handle(observation: Observation): void {
    const { kind, data } = observation.payload;
    const given = typeof data === 'object' && data !== null ? (data as Readonly<Record<string, unknown>>) : {};
    if (kind === 'tuning_suggestion') this.#suggest(observation, given);
    else if (kind === 'admin_override' && observation.source_name === adminSource) this.#order(observation, given);
  }

  close(): void {
    this.#expiries.close();
  }

  #suggest(observation: Observation, data: Readonly<Record<string, unknown>>): void {
    const { system_reflex: config } = this.#ports.gate.snapshot().config;
    const now = this.#ports.monotonic();
    const cooling = (key: GateOverrideKey): boolean =>
      now - (this.#accepted.get(key) ?? Number.NEGATIVE_INFINITY) < config.cooldown_sec * 1_000;
    const { allowed, rejected, reason } = judgeSuggestion(data.suggested_overrides, config, cooling);
    const ttlSec = readTtl(data.ttl_sec, config);
    if (!this.#ports.audit.room(rowsPerInput)) {
      this.#answer(observation, [], all(allowed, rejected), 'audit_unavailable', ttlSec, null);
      return;
    }
    const expiresAt = this.#ports.now() + ttlSec * 1_000;
    const told = text(data.reason);
    const before = this.#modes();
    const applied = allowed.map(({ key, value }) => {
      this.#accepted.set(key, now);
      const done = this.#set('agent', key, value, observation, { expiresAt, ttlSec, reason: told });
      this.#row('suggest', observation, {
        ...done,
        accepted: true,
        reason: told ?? 'agent_suggestion',
        ttlSec,
        expiresAt,
      });
      return done;
    });
    for (const { key, reason: why } of rejected) this.#refusedRow('suggest', observation, key, why, ttlSec);
    if (applied.length + rejected.length === 0) this.#refusedRow('suggest', observation, null, reason, ttlSec);
    const accepted = applied.some(({ kind }) => kind === 'changed')
      ? 'agent_suggestion'
      : applied.some(({ kind }) => kind === 'extended')
        ? 'ttl_extended'
        : 'no_effect';
    const outcome = applied.length > 0 ? accepted : reason;
    this.#answer(observation, applied, rejected, outcome, ttlSec, applied.length > 0 ? expiresAt : null);
    this.#modeChange(observation, before, outcome);
  }

  #order(observation: Observation, data: Readonly<Record<string, unknown>>): void {
    const overrides = typeof data.overrides === 'object' && data.overrides !== null ? data.overrides : {};
    const entries = Object.entries(overrides) as [GateOverrideKey, GateLayerEntry['value']][];
    const clear = typeof data.clear === 'string' ? (data.clear as GateOverrideKey) : undefined;
    if (!this.#ports.audit.room(rowsPerInput)) {
      const keys = clear === undefined ? entries.map(([key]) => ({ key })) : [{ key: clear }];
      this.#answer(observation, [], all(keys, []), 'audit_unavailable', null, null);
      return;
    }
    const before = this.#modes();
    if (clear !== undefined) {
      const old = this.#effective(clear);
      this.#expiries.drop('admin', clear);
      this.#ports.gate.removeOverride('admin', clear);
      const value = this.#effective(clear);
      this.#row('admin_clear', observation, { key: clear, old, value, accepted: true, reason: 'admin_clear' });
      this.#answer(observation, [{ key: clear, value, old, kind: 'changed' }], [], 'admin_clear', null, null);
      this.#modeChange(observation, before, 'admin_clear');
      return;
    }
    const ttlSec = typeof data.ttl_sec === 'number' ? data.ttl_sec : null;
    const expiresAt = ttlSec === null ? null : this.#ports.now() + ttlSec * 1_000;
    const reason = text(data.reason);
    const applied: Applied[] = [];
    const rejected: { key: string; reason: string }[] = [];
    for (const [key, value] of entries) {
      try {
        const done = this.#set('admin', key, value, observation, { expiresAt, ttlSec, reason });
        applied.push(done);
        this.#row('admin_set', observation, { ...done, accepted: true, reason, ttlSec, expiresAt });
      } catch (error) {
        if (!isCodedError(error)) throw error;
        rejected.push({ key: key.slice(0, 128), reason: error.code });
        this.#refusedRow('admin_set', observation, key.slice(0, 128), error.code, ttlSec);
      }
    }
    const outcome = applied.length > 0 ? 'admin_override' : 'invalid_override';
    this.#answer(observation, applied, rejected, outcome, ttlSec, expiresAt);
    this.#modeChange(observation, before, outcome);
  }

  #set(
    layer: GateLayer,
    key: GateOverrideKey,
    value: GateLayerEntry['value'],
    cause: Observation,
    how: { readonly expiresAt: number | null; readonly ttlSec: number | null; readonly reason: string | null },
  ): Applied {
    const { gate, monotonic } = this.#ports;
    const known = gate.snapshot().layers.find((entry) => entry.layer === layer && entry.key === key);
    const old = this.#effective(key);
    const changed = gate.updateOverrides(
      { [key]: value },
      { layer, expires_at: how.expiresAt, reason: how.reason, obs_id: cause.obs_id },
    );
    if (how.ttlSec === null) this.#expiries.drop(layer, key);
    else this.#expiries.set({ layer, key, at: monotonic() + how.ttlSec * 1_000, ttlSec: how.ttlSec, cause });
    const kind = changed ? 'changed' : known?.value === value ? 'extended' : 'none';
    return { key, value, old, kind };
  }

  #expire({ layer, key, ttlSec, cause }: Expiry): void {
    const before = this.#modes();
    const old = this.#effective(key);
    this.#ports.gate.removeOverride(layer, key);
    const value = this.#effective(key);
    this.#row('expire', cause, { key, old, value, accepted: true, reason: 'ttl_expired', ttlSec });
    this.#answer(cause, [{ key, value, old, kind: 'changed' }], [], 'ttl_expired', ttlSec, null);
    this.#modeChange(cause, before, 'ttl_expired');
  }

  #effective(key: GateOverrideKey): GateLayerEntry['value'] {
    return this.#ports.gate.snapshot().config.overrides[key];
  }

  #modes(): Modes {
    const { emergency_mode, force_low_model } = this.#ports.gate.snapshot().config.overrides;
    return { emergency_mode, force_low_model };
  }

  #answer(
    parent: Observation,
    applied: readonly Applied[],
    rejected: Rejected,
    reason: string,
    ttlSec: number | null,
    expiresAt: number | null,
  ): void {
    this.#tell(parent, 'tuning_applied', {
      scope: 'global',
      applied_overrides: Object.fromEntries(applied.map(({ key, value }) => [key, value])),
      rejected_overrides: rejected,
      accepted: applied.length > 0,
      reason,
      ttl_sec: ttlSec,
      expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
      revision: this.#ports.gate.snapshot().revision,
    });
  }

  #modeChange(parent: Observation, before: Modes, reason: string): void {
    const mode = this.#modes();
    if (mode.emergency_mode === before.emergency_mode && mode.force_low_model === before.force_low_model) return;
    this.#tell(parent, 'system_mode_changed', { mode, reason });
  }

  #tell(parent: Observation, kind: string, data: Readonly<Record<string, unknown>>): void {
    this.#ports.publish(parent, {
      obs_type: 'control',
      source_name: 'system:reflex',
      source_kind: 'internal',
      ingress: 'internal',
      actor: { actor_type: 'system', actor_id: 'system' },
      payload: { kind, data: { ...data, ts: new Date(this.#ports.now()).toISOString() } },
    });
  }

  #refusedRow(action: ControlAction, cause: Observation, key: string | null, reason: string, ttlSec: number | null) {
    this.#row(action, cause, { key, old: undefined, value: undefined, accepted: false, reason, ttlSec });
  }

  #row(
    action: ControlAction,
    cause: Observation,
    row: {
      readonly key: string | null;
      readonly old: unknown;
      readonly value: unknown;
      readonly accepted: boolean;
      readonly reason: string | null;
      readonly ttlSec?: number | null;
      readonly expiresAt?: number | null;
    },
  ): void {
    this.#ports.counted(action, row.accepted);
    const origin = cause.metadata.origin_session_key;
    this.#ports.audit.add({
      at: this.#ports.now(),
      action,
      actor: action === 'expire' ? 'system' : (cause.actor?.actor_id ?? cause.source_name),
      originSessionKey: typeof origin === 'string' ? origin : null,
      overrideKey: row.key,
      oldValue: row.old,
      newValue: row.value,
      accepted: row.accepted,
      reason: row.reason,
      ttlSec: row.ttlSec ?? null,
      expiresAt: row.expiresAt ?? null,
      obsId: cause.obs_id,
      traceId: cause.trace_id,
      correlationId: cause.correlation_id,
    });
  }
}

function all(keys: readonly { readonly key: string }[], rejected: Rejected): Rejected {
  return [...keys.map(({ key }) => ({ key, reason: 'audit_unavailable' })), ...rejected];
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.slice(0, 500) : null;
}
