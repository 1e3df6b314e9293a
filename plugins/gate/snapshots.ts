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
import type { Disposable } from 'mortise/sdk';
import { type CompiledConfig, compileConfig } from './compile-config.js';
import { overrideError, overrideKeys, readOverride } from './override-values.js';

export interface BaseFacts {
  readonly sha256: string | null;
  /** RFC 3339. */
  readonly loadedAt: string;
}

type Change = Parameters<GateControl['updateOverrides']>[1];

/** The file's values and the layers over them, as one state that is swapped as a whole. */
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

  /** The file has changed; no layer is touched. */
  replaceBase(base: GateConfig, facts: BaseFacts): void {
    this.#base = base;
    this.#facts = facts;
    this.#swap();
  }

  /** @throws MortiseError `invalid_override`; then nothing has changed */
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

  /** A new snapshot when the layers or the base have changed; a new revision only when something effective has. */
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
