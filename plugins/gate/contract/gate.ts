import type {
  Disposable,
  Observation,
  ObservationError,
  ObservationInput,
  ObservationType,
  Principal,
} from 'mortise/sdk';
import type { Config } from './config.generated.js';

export type GateAction = 'drop' | 'sink' | 'deliver';

/** The state of one live session. */
export interface SessionState {
  readonly session_key: string;
  /** Epoch milliseconds. */
  readonly created_at: number;
  /** Null before the first observation. */
  readonly last_active_at: number | null;
  readonly processed_total: number;
  readonly error_total: number;
  /** The newest 20, oldest first. */
  readonly recent_obs: readonly RecentObservation[];
  /** Seconds since the last activity; null before the first. */
  idleSeconds(): number | null;
}

export interface RecentObservation {
  readonly obs_id: string;
  readonly obs_type: ObservationType;
  readonly at: number;
  readonly action: GateAction | null;
  readonly reason: string | null;
  /** Step and class of a fault during its handling. */
  readonly error?: string | undefined;
}

export type GatePool = 'drop' | 'sink' | 'tool';

export type GateScene = keyof Config['scenes'];

export type ModelTier = 'low' | 'high';

export type LowModel = NonNullable<Config['low_model']>;

/** The gate's decision on one observation, with its reasons. Frozen. */
export interface GateDecision {
  readonly action: GateAction;
  /** The deciding reason, e.g. `gate_off`, `message_default`, `override=drop_actor`. */
  readonly reason: string;
  /** The deciding reason, then others in the order of the stages. */
  readonly reasons: readonly string[];
  readonly scene: string;
  readonly session_key: string;
  readonly trace_id: string;
  /** Binding for a turn: `low` uses {@link low_model} instead of the resolved model. */
  readonly model_tier?: ModelTier | null;
  /** Present with the tier `low` when one is configured. */
  readonly low_model?: LowModel | null;
  readonly tags?: Readonly<Record<string, string>>;
  /** 0 to 1, three decimals. */
  readonly score?: number;
  /** Response policy, hint, fingerprint and further members for the handler. */
  readonly [member: string]: unknown;
}

export interface GateOutcome {
  readonly decision: GateDecision;
  /** The observation with the flags that the gate added; absent when it added none. */
  readonly observation?: Observation;
  /** Published as continuations of the observation. */
  readonly emit: readonly ObservationInput[];
  /** The keys of the stages that emitted `emit`, in the same order; absent when `emit` is empty. */
  readonly emitters?: readonly string[];
  readonly ingest: readonly GateIngest[];
}

export interface GateIngest {
  readonly pool: GatePool;
  readonly observation: Observation;
  readonly decision: GateDecision;
  /** The principal that the observation was published for. */
  readonly principal?: Principal | undefined;
}

export interface GateContext {
  readonly sessionKey: string;
  /** Monotonic milliseconds. */
  readonly now: number;
  readonly session: Readonly<SessionState>;
  /** Overload known to the caller; the gate's own overload monitor counts in addition. */
  readonly overload: boolean;
}

/** Values of `gate.json` that may be overridden at run time. */
export type GateOverrides = Config['overrides'];

export type GateOverrideKey = keyof GateOverrides;

/** The admin layer takes precedence over the agent layer, and that over the file. */
export type GateLayer = 'agent' | 'admin';

export interface GateLayerEntry {
  readonly layer: GateLayer;
  readonly key: GateOverrideKey;
  readonly value: boolean | readonly string[];
  /** Epoch milliseconds; null = until cleared. For display: expiry itself uses the monotonic clock. */
  readonly expires_at: number | null;
  readonly reason: string | null;
  readonly obs_id: string | null;
}

/** `gate.json`, version 1, defaults filled in. */
export type { Config as GateConfig };

export type GateBudget = Config['budgets']['profiles']['tiny'];

/** One snapshot of the gate's configuration; deeply frozen, swapped as a whole. */
export interface GateSnapshot {
  /** Grows by 1 with every new snapshot. */
  readonly revision: number;
  readonly base_sha256: string | null;
  /** RFC 3339. */
  readonly loaded_at: string;
  /** The effective values: the file's with the layers applied. */
  readonly config: Config;
  /** The file's own overrides, without the layers. */
  readonly base: GateOverrides;
  readonly layers: readonly GateLayerEntry[];
}

export interface GateTotals {
  readonly processed: number;
  readonly delivered: number;
  readonly sunk: number;
  readonly dropped: number;
  readonly by_scene: Readonly<Record<string, number>>;
  readonly by_reason: Readonly<Record<string, number>>;
}

export type TakenEntry =
  | {
      readonly ok: true;
      readonly observation: Observation;
      /** The principal that it was published for; absent for an entry that was stored without one. */
      readonly principal: Principal | undefined;
      undo(): Promise<void>;
    }
  | { readonly ok: false; readonly reason: 'not_found' | 'already_released' };

/** The service `gate`. While no plugin provides it, everything is delivered with the reason `gate_off`. */
export interface GateService {
  /** Synchronous, and never throws for a bad observation. */
  handle(observation: Observation, context: GateContext): GateOutcome;
  /** Adds sunk and dropped observations to their pools. */
  ingest(items: readonly GateIngest[]): void;
  /** Reports that an observation emitted by a stage was invalid and not published: a fault of the stage's plugin. */
  notPublished?(stage: string, errors: readonly ObservationError[]): void;
}

/** The service `gate-control` of the plugin `gate`: its configuration snapshot, overrides, pools and stop switches. */
export interface GateControl {
  /** The current snapshot. Read it once per observation. */
  snapshot(): GateSnapshot;
  totals(): GateTotals;
  /**
   * Sets overrides in a layer. Only the plugin that audits changes may call it.
   * @returns whether an effective value has changed.
   * @throws MortiseError `invalid_override` for an unknown key, null or a value of another type.
   */
  updateOverrides(
    patch: Readonly<Partial<Record<GateOverrideKey, unknown>>>,
    entry: Pick<GateLayerEntry, 'layer' | 'expires_at' | 'reason' | 'obs_id'>,
  ): boolean;
  /** Validates a patch like {@link updateOverrides} without applying it. @throws MortiseError `invalid_override` */
  checkOverrides(patch: Readonly<Record<string, unknown>>): void;
  /** Calls `run` synchronously after every new snapshot. */
  onChange(run: () => void): Disposable;
  /** Removes an override, so that the value below it applies. @returns whether the effective value has changed. */
  removeOverride(layer: GateLayer, key: GateOverrideKey): boolean;
  /** Takes an observation from a pool for its one release. `undo` puts it back. */
  take(pool: GatePool, obsId: string): Promise<TakenEntry>;
  /** Checks only the stop switches, for a stateless proxy that creates no observation. */
  stopped(actorId: string | undefined): 'drop_actor' | 'emergency_mode' | 'system_overload' | undefined;
}
