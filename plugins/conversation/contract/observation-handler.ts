import type { GateDecision } from 'mortise/contracts/gate';
import type { CallContext, Observation, ObservationInput, ObservationType } from 'mortise/sdk';
import type { PublishResult } from './publish-result.js';

export interface ObservationHandlerFacts {
  readonly types: readonly ObservationType[];
  /** Milliseconds of one observation, 30,000 when absent; 0: the handler has a limit of its own. */
  readonly timeoutMs?: number;
}

/** Where the events of a turn go while someone waits for them. It carries no state. */
export interface ReplyPort {
  send(event: unknown): void | Promise<void>;
}

export interface HandlerContext extends CallContext {
  readonly sessionKey: string;
  readonly decision: GateDecision;
  /** Present while a caller waits. */
  readonly port?: ReplyPort | undefined;
  /** What the face gave to `submit`, for its own handler; never stored. */
  readonly request?: unknown;
  /** Publishes an observation that continues the trace of the handled one. */
  publish(observation: ObservationInput): PublishResult;
}

/** Runs in the session's worker: one observation of a session at a time. */
export interface ObservationHandler extends ObservationHandlerFacts {
  handle(observation: Observation, ctx: HandlerContext): Promise<unknown>;
}
