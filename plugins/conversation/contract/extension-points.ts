import type { GateDecision } from 'mortise/contracts/gate';
import type { CallContext, Observation, ObservationInput, ObservationType } from 'mortise/sdk';
import type { ObserveRequest, PublishRefusal, PublishResult, ReplyPort } from './conversation.js';

export interface InputAdapterFacts {
  readonly summary?: string;
  /** Takes each event once, by the `evidence.raw_event_id` of its observation: the newest 10,000 ids of 24 hours. */
  readonly dedup?: boolean;
  /** Milliseconds between two triggered calls of `observe`; 0 when absent. */
  readonly minIntervalMs?: number;
}

/** Whether an event was taken; `ignored` means that the adapter's `toObservation` returned null. */
export interface EventTaken {
  readonly ok: boolean;
  readonly reason?: PublishRefusal | 'ignored' | 'duplicate' | 'unreadable';
}

/** The point `input-adapter`: a source of observations, started and stopped with the conversation. */
export interface InputAdapter extends InputAdapterFacts {
  /** `publish` takes raw events for {@link toObservation}, or observations when there is none. It never throws. */
  start(publish: (event: unknown) => EventTaken, ctx: CallContext): Promise<void>;
  stop(): Promise<void>;
  /** Turns a raw event into an observation; null ignores the event. Throws for an event that cannot be read. */
  toObservation?(raw: unknown): ObservationInput | null;
  /** Looks for events when the adapter is triggered. @returns events as `publish` takes them */
  observe?(request: ObserveRequest, ctx: CallContext): Promise<readonly unknown[]>;
}

export interface EgressFacts {
  readonly accepts?: readonly ('message' | 'alert')[];
  /** Milliseconds, 100 to 30,000; 1,000 when absent. */
  readonly timeoutMs?: number;
  /** Receives replies of sessions that no adapter is bound to. */
  readonly default?: boolean;
  /** Receives the replies of all sessions in addition to the adapters they are routed to. */
  readonly everywhere?: boolean;
}

/** The point `egress`: an output for replies and alerts. */
export interface Egress extends EgressFacts {
  send(observation: Observation, ctx: CallContext): Promise<void>;
}

export interface ObservationHandlerFacts {
  readonly types: readonly ObservationType[];
  /** Time limit of one observation in milliseconds; 30,000 when absent, 0 when the handler has a limit of its own. */
  readonly timeoutMs?: number;
}

export interface HandlerContext extends CallContext {
  readonly sessionKey: string;
  readonly decision: GateDecision;
  /** Present while a caller waits. */
  readonly port?: ReplyPort | undefined;
  /** The `request` that the submitter passed to `submit` for its own handler; never stored. */
  readonly request?: unknown;
  /** Publishes an observation that continues the trace of the handled one. */
  publish(observation: ObservationInput): PublishResult;
}

/** The point `observation-handler`: runs in the session's worker, one observation of a session at a time. */
export interface ObservationHandler extends ObservationHandlerFacts {
  handle(observation: Observation, ctx: HandlerContext): Promise<unknown>;
}
