import type { GateControl, GateLayer, GateLayerEntry, GateOverrideKey } from 'mortise/contracts/gate';
import { isCodedError, type Observation } from 'mortise/sdk';
import { type Cause, causeOf, distantCause } from './cause.js';
import type { ControlAction, ControlEntry } from './control-entry.js';
import type { ControlStore, OverlayChange } from './control-store.js';
import { Expiries, type Expiry, type ExpiryPorts } from './expiries.js';
import { judgeSuggestion } from './judge-suggestion.js';
import { type Overlay, overlayName } from './overlays/overlay.js';
import { readTtl } from './read-ttl.js';
import { type AnswersPorts, type Applied, type Modes, ReflexAnswers, type Rejected } from './reflex-answers.js';

export interface SystemReflexPorts extends AnswersPorts {
  readonly gate: Pick<GateControl, 'snapshot' | 'updateOverrides' | 'removeOverride'>;
  readonly store: Pick<ControlStore, 'room' | 'add' | 'pending'>;
  readonly counted: (action: ControlAction, accepted: boolean) => void;
  readonly monotonic: ExpiryPorts['monotonic'];
  readonly after: ExpiryPorts['after'];
}

/** The source that an admin's changes come from; nobody outside can name it. */
export const adminSource = 'admin:override';
/** More rows than one input can make. */
const rowsPerInput = 128;

/** What is asked for one override. */
interface Wanted {
  readonly layer: GateLayer;
  readonly key: GateOverrideKey;
  readonly value: GateLayerEntry['value'];
  readonly ttlSec: number | null;
  /** Epoch milliseconds, for people. */
  readonly expiresAt: number | null;
  readonly reason: string | null;
}

type Row = Pick<ControlEntry, 'action' | 'accepted' | 'reason'> &
  Partial<Pick<ControlEntry, 'ttlSec' | 'expiresAt' | 'oldValue' | 'newValue'>> & { readonly key: string | null };

/**
 * The one place that changes overrides while the platform runs. Agents suggest, admins order; all of it comes by as
 * CONTROL observations, ends when its time is up, and leaves a row.
 */
export class SystemReflex {
  readonly #ports: SystemReflexPorts;
  readonly #answers: ReflexAnswers;
  readonly #expiries: Expiries;
  /** When a suggestion for a key was last accepted, monotonic milliseconds. */
  readonly #accepted = new Map<GateOverrideKey, number>();

  constructor(ports: SystemReflexPorts) {
    this.#ports = ports;
    this.#answers = new ReflexAnswers(ports);
    this.#expiries = new Expiries({
      monotonic: ports.monotonic,
      after: ports.after,
      expired: (expiry) => this.#expire(expiry, this.#effective(expiry.key)),
    });
  }

  /** Takes CONTROL observations; its own answers and unknown kinds are none of its business. */
  handle(observation: Observation): void {
    const { kind, data } = observation.payload;
    const given = typeof data === 'object' && data !== null ? (data as Readonly<Record<string, unknown>>) : {};
    const cause = causeOf(observation);
    if (kind === 'tuning_suggestion') this.#suggest(cause, given);
    else if (kind === 'admin_override' && observation.source_name === adminSource) this.#order(cause, given);
  }

  /** Takes over what other processes have changed meanwhile, or an earlier one has left. */
  adopt(overlays: readonly Overlay[]): void {
    const { gate, store, monotonic } = this.#ports;
    const before = this.#modes();
    const there = new Set(overlays.map(overlayName));
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
        // Of a version that knows other overrides.
        if (isCodedError(error)) continue;
        throw error;
      }
      if (leftMs === null) this.#expiries.drop(layer, key);
      else this.#expiries.set({ layer, key, at: monotonic() + leftMs, ttlSec: null, cause });
      if (layer === 'agent') this.#accepted.set(key, monotonic());
    }
    for (const entry of gate.snapshot().layers) {
      if (there.has(overlayName(entry)) || store.pending(entry)) continue;
      this.#expiries.drop(entry.layer, entry.key);
      gate.removeOverride(entry.layer, entry.key);
    }
    this.#answers.modes(distantCause(null), before, this.#modes(), 'changed_elsewhere');
  }

  close(): void {
    this.#expiries.close();
  }

  #suggest(cause: Cause, data: Readonly<Record<string, unknown>>): void {
    const { system_reflex: config } = this.#ports.gate.snapshot().config;
    const now = this.#ports.monotonic();
    const cooling = (key: GateOverrideKey): boolean =>
      now - (this.#accepted.get(key) ?? Number.NEGATIVE_INFINITY) < config.cooldown_sec * 1_000;
    const { allowed, rejected, reason } = judgeSuggestion(data.suggested_overrides, config, cooling);
    const ttlSec = readTtl(data.ttl_sec, config);
    if (!this.#ports.store.room(rowsPerInput)) {
      this.#refuse(cause, allowed, rejected, ttlSec);
      return;
    }
    const expiresAt = this.#ports.now() + ttlSec * 1_000;
    const told = text(data.reason);
    const before = this.#modes();
    const applied = allowed.map(({ key, value }) => {
      this.#accepted.set(key, now);
      const wanted = { layer: 'agent', key, value, ttlSec, expiresAt, reason: told } as const;
      return this.#set(cause, 'suggest', wanted, told ?? 'agent_suggestion');
    });
    const refused = { action: 'suggest', accepted: false, ttlSec } as const;
    for (const { key, reason: why } of rejected) this.#note(cause, { ...refused, key, reason: why });
    if (applied.length + rejected.length === 0) this.#note(cause, { ...refused, key: null, reason });
    const accepted = applied.some(({ kind }) => kind === 'changed')
      ? 'agent_suggestion'
      : applied.some(({ kind }) => kind === 'extended')
        ? 'ttl_extended'
        : 'no_effect';
    const outcome = applied.length > 0 ? accepted : reason;
    this.#answer(cause, applied, rejected, outcome, ttlSec, applied.length > 0 ? expiresAt : null);
    this.#answers.modes(cause, before, this.#modes(), outcome);
  }

  #order(cause: Cause, data: Readonly<Record<string, unknown>>): void {
    const overrides = typeof data.overrides === 'object' && data.overrides !== null ? data.overrides : {};
    const entries = Object.entries(overrides) as [GateOverrideKey, GateLayerEntry['value']][];
    const clear = typeof data.clear === 'string' ? (data.clear as GateOverrideKey) : undefined;
    if (!this.#ports.store.room(rowsPerInput)) {
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
    const expiresAt = ttlSec === null ? null : this.#ports.now() + ttlSec * 1_000;
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
        this.#note(cause, { action: 'admin_set', accepted: false, ttlSec, ...refused });
      }
    }
    const outcome = applied.length > 0 ? 'admin_override' : 'invalid_override';
    this.#answer(cause, applied, rejected, outcome, ttlSec, expiresAt);
    this.#answers.modes(cause, before, this.#modes(), outcome);
  }

  /** @throws MortiseError `invalid_override`; then nothing has changed */
  #set(cause: Cause, action: ControlAction, wanted: Wanted, noted: string | null): Applied {
    const { gate, monotonic } = this.#ports;
    const { layer, key, value, ttlSec, expiresAt, reason } = wanted;
    const known = this.#entry(layer, key);
    const old = this.#effective(key);
    const { obsId } = cause;
    const changed = gate.updateOverrides({ [key]: value }, { layer, expires_at: expiresAt, reason, obs_id: obsId });
    const endsAt = ttlSec === null ? null : monotonic() + ttlSec * 1_000;
    if (endsAt === null) this.#expiries.drop(layer, key);
    else this.#expiries.set({ layer, key, at: endsAt, ttlSec, cause });
    this.#note(
      cause,
      { action, accepted: true, key, reason: noted, ttlSec, expiresAt, oldValue: old, newValue: value },
      { kind: 'set', layer, key, value, endsAt, reason, obsId: obsId ?? '' },
    );
    return { key, value, old, kind: changed ? 'changed' : known?.value === value ? 'extended' : 'none' };
  }

  #clear(cause: Cause, key: GateOverrideKey): Applied {
    const old = this.#effective(key);
    this.#expiries.drop('admin', key);
    this.#ports.gate.removeOverride('admin', key);
    const value = this.#effective(key);
    this.#note(
      cause,
      { action: 'admin_clear', accepted: true, key, reason: 'admin_clear', oldValue: old, newValue: value },
      { kind: 'clear', layer: 'admin', key },
    );
    return { key, value, old, kind: 'changed' };
  }

  #expire({ layer, key, ttlSec, cause }: Expiry, old: GateLayerEntry['value']): void {
    const before = this.#modes();
    this.#ports.gate.removeOverride(layer, key);
    const value = this.#effective(key);
    this.#note(
      { ...cause, actor: 'system' },
      { action: 'expire', accepted: true, key, reason: 'ttl_expired', ttlSec, oldValue: old, newValue: value },
      { kind: 'expire', layer, key, obsId: cause.obsId ?? '' },
    );
    this.#answer(cause, [{ key, value, old, kind: 'changed' }], [], 'ttl_expired', ttlSec, null);
    this.#answers.modes(cause, before, this.#modes(), 'ttl_expired');
  }

  #entry(layer: GateLayer, key: GateOverrideKey): GateLayerEntry | undefined {
    return this.#ports.gate.snapshot().layers.find((entry) => entry.layer === layer && entry.key === key);
  }

  #effective(key: GateOverrideKey): GateLayerEntry['value'] {
    return this.#ports.gate.snapshot().config.overrides[key];
  }

  #modes(): Modes {
    const { emergency_mode, force_low_model } = this.#ports.gate.snapshot().config.overrides;
    return { emergency_mode, force_low_model };
  }

  /** What cannot be noted is not done. */
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
    const { revision } = this.#ports.gate.snapshot();
    this.#answers.applied(cause, { applied, rejected, reason, ttlSec, expiresAt, revision });
  }

  #note(cause: Cause, { key, ...row }: Row, overlay?: OverlayChange): void {
    this.#ports.counted(row.action, row.accepted);
    const { hop: _, ...from } = cause;
    const entry: ControlEntry = {
      at: this.#ports.now(),
      ttlSec: null,
      expiresAt: null,
      oldValue: undefined,
      newValue: undefined,
      ...from,
      ...row,
      overrideKey: key,
    };
    this.#ports.store.add({ entries: [entry], overlay });
  }
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.slice(0, 500) : null;
}
