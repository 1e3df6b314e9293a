import type { CallContext, ObservationInput } from 'mortise/sdk';
import type { PublishRefusal } from './publish-result.js';

export interface InputAdapterFacts {
  readonly summary?: string;
  /** An event whose observation has an `evidence.raw_event_id` is taken once: the newest 10,000 ids of a day are known. */
  readonly dedup?: boolean;
  /** Milliseconds between two observes that are triggered; 0 when absent. */
  readonly minIntervalMs?: number;
}

/** What became of an event: not taken because the platform refused it, or the adapter itself said that it is none. */
export interface EventTaken {
  readonly ok: boolean;
  readonly reason?: PublishRefusal | 'ignored' | 'duplicate' | 'unreadable';
}

/** Why an active adapter is to look. */
export interface ObserveRequest {
  readonly reason: string;
  readonly context?: unknown;
}

export interface InputAdapter extends InputAdapterFacts {
  /** `publish` takes what {@link toObservation} reads, or observations when there is none. It never throws. */
  start(publish: (event: unknown) => EventTaken, ctx: CallContext): Promise<void>;
  stop(): Promise<void>;
  /** Turns a raw event into an observation; null when it is none. Throws for one that cannot be read. */
  toObservation?(raw: unknown): ObservationInput | null;
  /** An active adapter looks when it is triggered. @returns events as `publish` takes them */
  observe?(request: ObserveRequest, ctx: CallContext): Promise<readonly unknown[]>;
}
