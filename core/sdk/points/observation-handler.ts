import type { CallContext } from '../context.js';
import type { Observation, ObservationInput, ObservationType } from '../observation.js';
import type { PublishResult } from '../publish-result.js';
import type { GateDecision } from '../services/gate.js';
import type { ExtensionPointDeclaration } from './point.js';

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

export const observationHandlerPoint: ExtensionPointDeclaration = {
  name: 'observation-handler',
  summary: 'What delivered observations reach; by type.',
  dispatch: 'ordered',
  factsSchema: {
    type: 'object',
    required: ['types'],
    properties: {
      types: {
        type: 'array',
        minItems: 1,
        items: { enum: ['message', 'world_data', 'alert', 'control', 'schedule', 'system'] },
      },
      timeoutMs: { type: 'integer', minimum: 0, maximum: 3_600_000 },
    },
  },
  functions: ['handle'],
  timeoutMs: 30_000,
  failure: 'that observation is settled as an error; the worker goes on',
};
