import type { Observation, ObservationInput } from '../observation.js';

export interface GateStageFacts {
  readonly slot: 'scene' | 'hard-bypass' | 'feature' | 'scoring' | 'dedup' | 'policy' | 'finalize';
  /** Negative: before the built-in stage of the slot; positive: after it. */
  readonly order: number;
  readonly onFailure?: 'closed' | 'open';
  /** Microseconds, 10 to 5,000. */
  readonly budgetUs?: number;
}

/** The pending decision: a stage adds proposals and cannot remove those of other stages. */
export interface GateWork {
  readonly observation: Observation;
  propose(action: 'drop' | 'sink' | 'deliver', reason: string): void;
  tag(key: string, value: string): void;
  feature(key: string, value: unknown): void;
  setScene(scene: string): void;
  addScore(amount: number, why: string): void;
  /** Published as a continuation of the observation. */
  emit(observation: ObservationInput): void;
}

export interface GateStageContext {
  /** Monotonic milliseconds. */
  readonly now: number;
  readonly config: Readonly<Record<string, unknown>>;
  readonly sessionKey: string;
  readonly sessionState: Readonly<Record<string, unknown>>;
  readonly systemHealth: { readonly overload: boolean };
  readonly dryRun: boolean;
  /** A map private to the stage, bounded to 10,000 entries. */
  memory(key: string): Map<string, unknown>;
}

export interface GateStage extends GateStageFacts {
  /** Synchronous and without effects; a returned promise is a failure. */
  apply(work: GateWork, ctx: GateStageContext): void;
}
