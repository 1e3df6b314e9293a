import type { GateControl, GateLayer, GateLayerEntry, GateOverrideKey } from 'mortise/contracts/gate';
import { isCodedError, isJsonObject, type JsonObject, type Observation } from 'mortise/sdk';
import { type Cause, causeOf, distantCause } from './cause.js';
import type { ControlAction, ControlEntry } from './control-entry.js';
import type { ControlStore, OverlayChange } from './control-store.js';
import { Expiries, type Expiry, type ExpiryDeps } from './expiries.js';
import { type Overlay, overlayName } from './overlay-store.js';
import { type AnswersDeps, type Applied, type Modes, ReflexAnswers, type Rejected } from './reflex-answers.js';
import { judgeSuggestion, readTtl } from './suggestion.js';

interface SystemReflexDeps extends AnswersDeps {
  readonly gate: Pick<GateControl, 'snapshot' | 'updateOverrides' | 'removeOverride'>;
  readonly store: Pick<ControlStore, 'room' | 'add' | 'pending'>;
  readonly counted: (action: ControlAction, accepted: boolean) => void;
  readonly monotonic: ExpiryDeps['monotonic'];
  readonly after: ExpiryDeps['after'];
}

/** The source of admins' changes; a reserved name that external input cannot use. */
export const adminSource = 'admin:override';
/** An upper bound of the audit rows of one input. */
const rowsPerInput = 128;

/** A requested override. */
interface RequestedOverride {
  readonly layer: GateLayer;
  readonly key: GateOverrideKey;
  readonly value: GateLayerEntry['value'];
  readonly ttlSec: number | null;
  /** Epoch milliseconds, for display. */
  readonly expiresAt: number | null;
  readonly reason: string | null;
}

type Row = Pick<ControlEntry, 'action' | 'accepted' | 'reason'> &
  Partial<Pick<ControlEntry, 'ttlSec' | 'expiresAt' | 'oldValue' | 'newValue'>> & { readonly key: string | null };

/**
 * The only place that changes overrides at run time. Suggestions of agents and overrides of admins arrive as CONTROL
 * observations; every input and every expiry writes an audit row.
 */
export class SystemReflex {
  readonly #deps: SystemReflexDeps;
  readonly #answers: ReflexAnswers;
  readonly #expiries: Expiries;
  /** When a suggestion for a key was last accepted; monotonic milliseconds. */
  readonly #accepted = new Map<GateOverrideKey, number>();

  constructor(deps: SystemReflexDeps) {
    this.#deps = deps;
    this.#answers = new ReflexAnswers(deps);
    this.#expiries = new Expiries({
      monotonic: deps.monotonic,
      after: deps.after,
      expired: (expiry) => this.#expire(expiry, this.#effective(expiry.key)),
    });
  }

  /** Handles CONTROL observations; ignores its own answers and unknown kinds. */
  handle(observation: Observation): void {
    const { kind, data } = observation.payload;
    const given = isJsonObject(data) ? data : {};
    const cause = causeOf(observation);
    if (kind === 'tuning_suggestion') this.#suggest(cause, given);
    else if (kind === 'admin_override' && observation.source_name === adminSource) this.#override(cause, given);
  }

  /** Adopts the stored overrides: those that other processes changed, or that survived a restart. */
  adopt(overlays: readonly Overlay[]): void {
    const { gate, store, monotonic } = this.#deps;
    const before = this.#modes();
    const stored = new Set(overlays.map(overlayName));
    for (const overlay of overlays) {
      const { layer, key, value, leftMs, expiresAt, reason, obsId } = overlay;
      if (store.pending(overlay)) continue;
      const cause = distantCause(obsId);
      if (leftMs !== null && leftMs <= 0) {
        this.#expiries.drop(layer, key);
        this.#expire({ layer, key, at: 0, ttlSec: null, cause }, value);
        continue;
      }
      if (this.#entry(layer, key)?.obs_id === obsId) continue;
      try {
        gate.updateOverrides({ [key]: value }, { layer, expires_at: expiresAt, reason, obs_id: obsId });
      } catch (error) {
        // Stored by a version with other overrides.
        if (isCodedError(error)) continue;
        throw error;
      }
      if (leftMs === null) this.#expiries.drop(layer, key);
      else this.#expiries.set({ layer, key, at: monotonic() + leftMs, ttlSec: null, cause });
      if (layer === 'agent') this.#accepted.set(key, monotonic());
    }
    for (const entry of gate.snapshot().layers) {
      if (stored.has(overlayName(entry)) || store.pending(entry)) continue;
      this.#expiries.drop(entry.layer, entry.key);
      gate.removeOverride(entry.layer, entry.key);
    }
    this.#answers.modes(distantCause(null), before, this.#modes(), 'changed_elsewhere');
  }

  close(): void {
    this.#expiries.close();
  }

  #suggest(cause: Cause, data: JsonObject): void {
    const { system_reflex: config } = this.#deps.gate.snapshot().config;
    const now = this.#deps.monotonic();
    const cooling = (key: GateOverrideKey): boolean =>
      now - (this.#accepted.get(key) ?? Number.NEGATIVE_INFINITY) < config.cooldown_sec * 1_000;
    const { allowed, rejected, reason } = judgeSuggestion(data.suggested_overrides, config, cooling);
    const ttlSec = readTtl(data.ttl_sec, config);
    if (!this.#deps.store.room(rowsPerInput)) {
      this.#refuse(cause, allowed, rejected, ttlSec);
      return;
    }
    const expiresAt = this.#deps.now() + ttlSec * 1_000;
    const why = text(data.reason);
    const before = this.#modes();
    const applied = allowed.map(({ key, value }) => {
      this.#accepted.set(key, now);
      const requested = { layer: 'agent', key, value, ttlSec, expiresAt, reason: why } as const;
      return this.#set(cause, 'suggest', requested, why ?? 'agent_suggestion');
    });
    const refused = { action: 'suggest', accepted: false, ttlSec } as const;
    for (const { key, reason: code } of rejected) this.#audit(cause, { ...refused, key, reason: code });
    if (applied.length + rejected.length === 0) this.#audit(cause, { ...refused, key: null, reason });
    const accepted = applied.some(({ kind }) => kind === 'changed')
      ? 'agent_suggestion'
      : applied.some(({ kind }) => kind === 'extended')
        ? 'ttl_extended'
        : 'no_effect';
    const outcome = applied.length > 0 ? accepted : reason;
    this.#answer(cause, applied, rejected, outcome, ttlSec, applied.length > 0 ? expiresAt : null);
    this.#answers.modes(cause, before, this.#modes(), outcome);
  }

  #override(cause: Cause, data: JsonObject): void {
    const overrides = isJsonObject(data.overrides) ? data.overrides : {};
    const entries = Object.entries(overrides) as [GateOverrideKey, GateLayerEntry['value']][];
    const clear = typeof data.clear === 'string' ? (data.clear as GateOverrideKey) : undefined;
    if (!this.#deps.store.room(rowsPerInput)) {
      this.#refuse(cause, clear === undefined ? entries.map(([key]) => ({ key })) : [{ key: clear }], [], null);
      return;
    }
    const before = this.#modes();
    if (clear !== undefined) {
      this.#answer(cause, [this.#clear(cause, clear)], [], 'admin_clear', null, null);
      this.#answers.modes(cause, before, this.#modes(), 'admin_clear');
      return;
    }
    const ttlSec = Number.isFinite(data.ttl_sec) ? Number(data.ttl_sec) : null;
    const expiresAt = ttlSec === null ? null : this.#deps.now() + ttlSec * 1_000;
    const reason = text(data.reason);
    const applied: Applied[] = [];
    const rejected: { key: string; reason: string }[] = [];
    for (const [key, value] of entries) {
      try {
        applied.push(this.#set(cause, 'admin_set', { layer: 'admin', key, value, ttlSec, expiresAt, reason }, reason));
      } catch (error) {
        if (!isCodedError(error)) throw error;
        const refused = { key: key.slice(0, 128), reason: error.code };
        rejected.push(refused);
        this.#audit(cause, { action: 'admin_set', accepted: false, ttlSec, ...refused });
      }
    }
    const outcome = applied.length > 0 ? 'admin_override' : 'invalid_override';
    this.#answer(cause, applied, rejected, outcome, ttlSec, expiresAt);
    this.#answers.modes(cause, before, this.#modes(), outcome);
  }

  /** @throws MortiseError `invalid_override`, without any change */
  #set(cause: Cause, action: ControlAction, requested: RequestedOverride, auditReason: string | null): Applied {
    const { gate, monotonic } = this.#deps;
    const { layer, key, value, ttlSec, expiresAt, reason } = requested;
    const known = this.#entry(layer, key);
    const old = this.#effective(key);
    const { obsId } = cause;
    const changed = gate.updateOverrides({ [key]: value }, { layer, expires_at: expiresAt, reason, obs_id: obsId });
    const endsAt = ttlSec === null ? null : monotonic() + ttlSec * 1_000;
    if (endsAt === null) this.#expiries.drop(layer, key);
    else this.#expiries.set({ layer, key, at: endsAt, ttlSec, cause });
    this.#audit(
      cause,
      { action, accepted: true, key, reason: auditReason, ttlSec, expiresAt, oldValue: old, newValue: value },
      { kind: 'set', layer, key, value, endsAt, reason, obsId: obsId ?? '' },
    );
    return { key, value, old, kind: changed ? 'changed' : known?.value === value ? 'extended' : 'none' };
  }

  #clear(cause: Cause, key: GateOverrideKey): Applied {
    const old = this.#effective(key);
    this.#expiries.drop('admin', key);
    this.#deps.gate.removeOverride('admin', key);
    const value = this.#effective(key);
    this.#audit(
      cause,
      { action: 'admin_clear', accepted: true, key, reason: 'admin_clear', oldValue: old, newValue: value },
      { kind: 'clear', layer: 'admin', key },
    );
    return { key, value, old, kind: 'changed' };
  }

  #expire({ layer, key, ttlSec, cause }: Expiry, old: GateLayerEntry['value']): void {
    const before = this.#modes();
    this.#deps.gate.removeOverride(layer, key);
    const value = this.#effective(key);
    this.#audit(
      { ...cause, actor: 'system' },
      { action: 'expire', accepted: true, key, reason: 'ttl_expired', ttlSec, oldValue: old, newValue: value },
      { kind: 'expire', layer, key, obsId: cause.obsId ?? '' },
    );
    this.#answer(cause, [{ key, value, old, kind: 'changed' }], [], 'ttl_expired', ttlSec, null);
    this.#answers.modes(cause, before, this.#modes(), 'ttl_expired');
  }

  #entry(layer: GateLayer, key: GateOverrideKey): GateLayerEntry | undefined {
    return this.#deps.gate.snapshot().layers.find((entry) => entry.layer === layer && entry.key === key);
  }

  #effective(key: GateOverrideKey): GateLayerEntry['value'] {
    return this.#deps.gate.snapshot().config.overrides[key];
  }

  #modes(): Modes {
    const { emergency_mode, force_low_model } = this.#deps.gate.snapshot().config.overrides;
    return { emergency_mode, force_low_model };
  }

  /** Refuses a change that cannot be audited. */
  #refuse(cause: Cause, keys: readonly { readonly key: string }[], rejected: Rejected, ttlSec: number | null): void {
    const all = [...keys.map(({ key }) => ({ key, reason: 'audit_unavailable' })), ...rejected];
    this.#answer(cause, [], all, 'audit_unavailable', ttlSec, null);
  }

  #answer(
    cause: Cause,
    applied: readonly Applied[],
    rejected: Rejected,
    reason: string,
    ttlSec: number | null,
    expiresAt: number | null,
  ): void {
    const { revision } = this.#deps.gate.snapshot();
    this.#answers.applied(cause, { applied, rejected, reason, ttlSec, expiresAt, revision });
  }

  #audit(cause: Cause, { key, ...row }: Row, overlay?: OverlayChange): void {
    this.#deps.counted(row.action, row.accepted);
    const { hop: _, ...from } = cause;
    const entry: ControlEntry = {
      at: this.#deps.now(),
      ttlSec: null,
      expiresAt: null,
      oldValue: undefined,
      newValue: undefined,
      ...from,
      ...row,
      overrideKey: key,
    };
    this.#deps.store.add({ entries: [entry], overlay });
  }
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.slice(0, 500) : null;
}
