import type { CallContext } from '../context.js';
import type { Observation, ObservationInput, ObservationType } from '../observation.js';
import type { PublishRefusal, PublishResult } from '../services/conversation.js';
import type { GateDecision } from '../services/gate.js';
import { dottedKeyPattern, type ExtensionPointDeclaration } from './point.js';

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

export interface EgressFacts {
  readonly accepts?: readonly ('message' | 'alert')[];
  /** Milliseconds, 100 to 30,000; 1,000 when absent. */
  readonly timeoutMs?: number;
  /** Receives replies of sessions that nothing is bound to. */
  readonly default?: boolean;
  /** Receives the replies of all sessions, beside wherever else they go. */
  readonly everywhere?: boolean;
}

export interface Egress extends EgressFacts {
  send(observation: Observation, ctx: CallContext): Promise<void>;
}

export const egressPoint: ExtensionPointDeclaration = {
  name: 'egress',
  summary: 'Ways out for replies; each with its own queue.',
  dispatch: 'selected',
  factsSchema: {
    type: 'object',
    properties: {
      accepts: { type: 'array', items: { enum: ['message', 'alert'] } },
      timeoutMs: { type: 'integer', minimum: 100, maximum: 30_000 },
      default: { type: 'boolean' },
      everywhere: { type: 'boolean' },
    },
  },
  functions: ['send'],
  timeoutMs: 1_000,
  failure: 'one warning and a pain alert; the other adapters are untouched',
};

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

export interface SocketMethodFacts {
  readonly paramsSchema: Readonly<Record<string, unknown>>;
}

export interface SocketMethod extends SocketMethodFacts {
  handle(params: Readonly<Record<string, unknown>>, ctx: CallContext): Promise<Readonly<Record<string, unknown>>>;
}

export const socketMethodPoint: ExtensionPointDeclaration = {
  name: 'socket-method',
  summary: 'Methods of the realtime socket: `<plugin>.<name>`.',
  dispatch: 'selected',
  keyPattern: dottedKeyPattern,
  factsSchema: { type: 'object', required: ['paramsSchema'], properties: { paramsSchema: { type: 'object' } } },
  functions: ['handle'],
  timeoutMs: 30_000,
  failure: 'an error frame; other requests of the socket go on',
};
