import { isDeepStrictEqual } from 'node:util';
import type {
  GateConfig,
  GateControl,
  GateLayer,
  GateLayerEntry,
  GateOverrideKey,
  GateOverrides,
  GateSnapshot,
} from 'mortise/contracts/gate';
import { type Disposable, MortiseError } from 'mortise/sdk';
import { type CompiledConfig, compileConfig } from './gate-config.js';

/** The origin of the configuration file's content. */
export interface BaseFacts {
  readonly sha256: string | null;
  /** RFC 3339. */
  readonly loadedAt: string;
}

type Change = Parameters<GateControl['updateOverrides']>[1];

const listLimit = 10_000;
const textLimit = 1_024;

const kinds: Readonly<Record<GateOverrideKey, 'flag' | 'list'>> = {
  emergency_mode: 'flag',
  force_low_model: 'flag',
  drop_sessions: 'list',
  drop_actors: 'list',
  deliver_sessions: 'list',
  deliver_actors: 'list',
};

const overrideKeys = Object.keys(kinds) as readonly GateOverrideKey[];

/** The file's values with the agent and admin layers over them, as one immutable snapshot that is swapped as a whole. */
export class Snapshots {
  #base: GateConfig;
  #facts: BaseFacts;
  readonly #layers = new Map<string, GateLayerEntry>();
  readonly #listeners = new Set<() => void>();
  #current: CompiledConfig;

  constructor(base: GateConfig, facts: BaseFacts) {
    this.#base = base;
    this.#facts = facts;
    this.#current = compileConfig(this.#build(1, base));
  }

  get compiled(): CompiledConfig {
    return this.#current;
  }

  get snapshot(): GateSnapshot {
    return this.#current.snapshot;
  }

  /** Replaces the file's values and keeps the layers. */
  replaceBase(base: GateConfig, facts: BaseFacts): void {
    this.#base = base;
    this.#facts = facts;
    this.#swap();
  }

  /** @throws MortiseError `invalid_override`, without any change */
  update(patch: Parameters<GateControl['updateOverrides']>[0], { layer, expires_at, reason, obs_id }: Change): boolean {
    const read = Object.entries(patch).map(([key, value]) => readOverride(key, value));
    if (read.length === 0) throw overrideError('', 'There is no override to set.');
    for (const { key, value } of read) {
      this.#layers.set(`${layer} ${key}`, Object.freeze({ layer, key, value, expires_at, reason, obs_id }));
    }
    return this.#swap();
  }

  /** @throws MortiseError `invalid_override` */
  check(patch: Readonly<Record<string, unknown>>): void {
    const entries = Object.entries(patch);
    if (entries.length === 0) throw overrideError('', 'There is no override to set.');
    for (const [key, value] of entries) readOverride(key, value);
  }

  onChange(run: () => void): Disposable {
    this.#listeners.add(run);
    return { dispose: () => void this.#listeners.delete(run) };
  }

  remove(layer: GateLayer, key: GateOverrideKey): boolean {
    return this.#layers.delete(`${layer} ${key}`) && this.#swap();
  }

  /** Swaps in a new snapshot. The revision grows only when the effective configuration has changed. */
  #swap(): boolean {
    const before = this.#current.snapshot;
    const next = this.#build(before.revision, this.#base);
    const changed = !isDeepStrictEqual(next.config, before.config);
    this.#current = changed
      ? compileConfig(this.#build(before.revision + 1, this.#base))
      : { ...this.#current, snapshot: next };
    for (const run of [...this.#listeners]) run();
    return changed;
  }

  #build(revision: number, base: GateConfig): GateSnapshot {
    const layers = [...this.#layers.values()];
    const effective: Record<string, unknown> = { ...base.overrides };
    for (const key of overrideKeys) {
      const entry = this.#layers.get(`admin ${key}`) ?? this.#layers.get(`agent ${key}`);
      if (entry) effective[key] = entry.value;
    }
    const overrides = Object.freeze(effective) as unknown as GateOverrides;
    return Object.freeze({
      revision,
      base_sha256: this.#facts.sha256,
      loaded_at: this.#facts.loadedAt,
      config: Object.freeze({ ...base, overrides }),
      base: base.overrides,
      layers: Object.freeze(layers),
    });
  }
}

function isOverrideKey(key: string): key is GateOverrideKey {
  return Object.hasOwn(kinds, key);
}

/** @throws MortiseError `invalid_override` with the path and, for an unknown key, the nearest known key */
function readOverride(
  key: string,
  value: unknown,
): { readonly key: GateOverrideKey; readonly value: GateOverrides[GateOverrideKey] } {
  if (!isOverrideKey(key)) {
    const nearest = nearestOf(key, overrideKeys);
    throw overrideError(key, `There is no override "${key.slice(0, 64)}"; did you mean "${nearest}"?`, { nearest });
  }
  if (kinds[key] === 'flag') {
    if (typeof value !== 'boolean') throw overrideError(key, `${key} must be true or false.`);
    return { key, value };
  }
  if (!Array.isArray(value) || value.length > listLimit || !value.every(isEntry)) {
    throw overrideError(key, `${key} must be a list of at most ${listLimit} texts.`);
  }
  return { key, value: Object.freeze([...new Set<string>(value)]) };
}

function overrideError(key: string, message: string, details: Readonly<Record<string, unknown>> = {}) {
  return new MortiseError('invalid_override', message, {
    status: 400,
    details: { path: `/overrides/${key.slice(0, 64)}`, ...details },
  });
}

function isEntry(entry: unknown): boolean {
  return typeof entry === 'string' && entry !== '' && entry.length <= textLimit;
}

/** The name with the smallest Levenshtein distance. */
function nearestOf(word: string, names: readonly string[]): string {
  const short = word.slice(0, 64);
  return [...names].sort((a, b) => distance(short, a) - distance(short, b))[0] ?? '';
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
