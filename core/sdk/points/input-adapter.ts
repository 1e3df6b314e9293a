import type { CallContext } from '../context.js';
import type { ObservationInput } from '../observation.js';
import type { PublishRefusal } from '../publish-result.js';
import type { ExtensionPointDeclaration } from './point.js';

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

export const inputAdapterPoint: ExtensionPointDeclaration = {
  name: 'input-adapter',
  summary: 'Ways in for observations.',
  dispatch: 'ordered',
  factsSchema: {
    type: 'object',
    properties: {
      summary: { type: 'string' },
      dedup: { type: 'boolean' },
      minIntervalMs: { type: 'integer', minimum: 0, maximum: 86_400_000 },
    },
  },
  functions: ['start', 'stop'],
  optionalFunctions: ['toObservation', 'observe'],
  timeoutMs: 10_000,
  failure: 'an alert; the other adapters are untouched',
};
