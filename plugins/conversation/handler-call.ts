import type { HandlerContext, PublishResult, ReplyPort } from 'mortise/contracts/conversation';
import type { GateDecision } from 'mortise/contracts/gate';
import type { CallContext, Logger, Observation, ObservationInput, Principal, TraceContext } from 'mortise/sdk';
import { derive } from './derive.js';
import type { Ticket } from './ticket.js';

/** What a handler gets with its observation. What the call itself gives is passed on as it is asked for. */
export class HandlerCall implements HandlerContext {
  readonly sessionKey: string;
  readonly decision: GateDecision;
  readonly port: ReplyPort | undefined;
  readonly request: unknown;
  readonly publish: (observation: ObservationInput) => PublishResult;
  readonly #ctx: CallContext;

  constructor(
    ctx: CallContext,
    { session, submit }: Ticket,
    observation: Observation,
    decision: GateDecision,
    publish: (observation: ObservationInput) => PublishResult,
  ) {
    this.#ctx = ctx;
    this.sessionKey = session?.key ?? decision.session_key;
    this.decision = decision;
    this.port = submit?.port;
    this.request = submit?.request;
    this.publish = (fields) => publish(derive(observation, fields));
  }

  get signal(): AbortSignal {
    return this.#ctx.signal;
  }

  get log(): Logger {
    return this.#ctx.log;
  }

  get principal(): Principal {
    return this.#ctx.principal;
  }

  get requestId(): string {
    return this.#ctx.requestId;
  }

  get correlationId(): string {
    return this.#ctx.correlationId;
  }

  get trace(): TraceContext {
    return this.#ctx.trace;
  }
}
