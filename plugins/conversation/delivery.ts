import type { HandlerContext, ObservationHandler, PublishResult, ReplyPort } from 'mortise/contracts/conversation';
import type { GateDecision, GateOutcome } from 'mortise/contracts/gate';
import {
  type CallContext,
  type CallEnd,
  isCodedError,
  type Logger,
  type Observation,
  type ObservationInput,
  type Principal,
} from 'mortise/sdk';
import type { LiveSession } from './live-session.js';
import { derive } from './observation/read-observation.js';
import type { Ticket } from './ticket.js';
import type { RunningHandler, WaitGraph } from './wait-graph.js';

export interface DeliveryDeps {
  readonly slots: TurnSlots;
  readonly waits: WaitGraph;
  readonly publish: (observation: ObservationInput, principal: Principal) => PublishResult;
  /** Counts, records and alerts that a handler failed. */
  readonly fault: (session: LiveSession, observation: Observation, step: 'handler', error: unknown) => void;
  readonly count: (outcome: 'handled' | 'error') => void;
}

/** Errors that mean that the handler's plugin was stopping, not that it failed. */
const stoppedCodes = ['contribution_unknown', 'plugin_stopping', 'call_aborted'];

/** Runs the handlers of one delivered observation, one after the other, under the limit of concurrent turns. */
export class Delivery implements RunningHandler {
  readonly sessionKey: string;
  readonly #session: LiveSession;
  readonly #ticket: Ticket;
  readonly #outcome: GateOutcome;
  readonly #observation: Observation;
  readonly #deps: DeliveryDeps;
  /** Resumes the worker of the session; set once the worker has to wait. */
  #resume: ((session: LiveSession) => void) | undefined;
  #next = 0;
  #holdsSlot = false;
  #failed = false;
  #handlerStopped = false;
  #value: unknown;
  #ended = false;

  constructor(session: LiveSession, ticket: Ticket, outcome: GateOutcome, deps: DeliveryDeps) {
    this.sessionKey = session.key;
    this.#session = session;
    this.#ticket = ticket;
    this.#outcome = outcome;
    this.#observation = outcome.observation ?? ticket.observation;
    this.#deps = deps;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** @returns true when it has ended already; otherwise it calls `resume` when it ends */
  start(resume: (session: LiveSession) => void): boolean {
    const { slots } = this.#deps;
    const ticket = this.#ticket;
    const limited = ticket.turn && !ticket.nested;
    if (!limited || slots.take()) {
      this.#holdsSlot = limited;
      this.#begin();
    } else this.#waitForSlot();
    if (!this.#ended) this.#resume = resume;
    return this.#ended;
  }

  #waitForSlot(): void {
    const ticket = this.#ticket;
    const leave = this.#deps.slots.wait(() => {
      ticket.gaveUp = undefined;
      if (this.#ended) this.#deps.slots.release();
      else {
        this.#holdsSlot = true;
        this.#begin();
      }
    });
    ticket.gaveUp = () => {
      leave();
      this.#end();
    };
    ticket.queue();
  }

  #begin(): void {
    this.#ticket.begin();
    this.#run();
  }

  #run(): void {
    const handler = this.#ticket.handlers[this.#next];
    this.#next += 1;
    if (handler) handler.run(this.#use, this.#handled);
    else this.#finish();
  }

  readonly #use = (handler: ObservationHandler, ctx: CallContext): unknown => {
    const { waits, publish } = this.#deps;
    const call = new HandlerCall(ctx, this.#ticket, this.#observation, this.#outcome.decision, publish);
    return waits.run(this, callHandler, handler, this.#observation, call);
  };

  readonly #handled = (end: CallEnd): void => {
    if (end.ok) this.#value ??= end.value;
    else if (isCodedError(end.error) && stoppedCodes.includes(end.error.code)) this.#handlerStopped = true;
    else {
      this.#failed = true;
      this.#deps.fault(this.#session, this.#observation, 'handler', end.error);
    }
    this.#run();
  };

  #finish(): void {
    const outcome = this.#failed ? 'error' : this.#handlerStopped ? 'cancelled' : 'handled';
    if (outcome !== 'cancelled') this.#deps.count(outcome);
    this.#ticket.settle({ outcome, decision: this.#outcome.decision, value: this.#value });
    this.#end();
  }

  #end(): void {
    this.#ended = true;
    if (this.#holdsSlot) this.#deps.slots.release();
    this.#resume?.(this.#session);
  }
}

function callHandler(handler: ObservationHandler, observation: Observation, call: HandlerCall): unknown {
  return handler.handle(observation, call);
}

/** The context of a handler. Members of the lease's own context are read on access: spreading it would compute them all. */
class HandlerCall implements HandlerContext {
  readonly sessionKey: string;
  readonly decision: GateDecision;
  readonly port: ReplyPort | undefined;
  readonly request: unknown;
  readonly publish: (observation: ObservationInput) => PublishResult;
  readonly #ctx: CallContext;

  constructor(
    ctx: CallContext,
    { session, submit, principal }: Ticket,
    observation: Observation,
    decision: GateDecision,
    publish: DeliveryDeps['publish'],
  ) {
    this.#ctx = ctx;
    this.sessionKey = session?.key ?? decision.session_key;
    this.decision = decision;
    this.port = submit?.port;
    this.request = submit?.request;
    this.publish = (fields) => publish(derive(observation, fields), principal);
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

  get trace(): CallContext['trace'] {
    return this.#ctx.trace;
  }
}

/** The limit of concurrent turns over all sessions, first come, first served. */
export class TurnSlots {
  readonly #limit: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** @returns false when every slot is taken */
  take(): boolean {
    if (this.#taken >= this.#limit) return false;
    this.#taken += 1;
    return true;
  }

  /** Calls `served` once a slot is taken for the caller. @returns a function that stops waiting */
  wait(served: () => void): () => void {
    this.#waiting.add(served);
    return () => this.#waiting.delete(served);
  }

  /** Returns a slot. */
  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#taken -= 1;
      return;
    }
    this.#waiting.delete(next);
    // Called directly, turns that end at once would nest on the stack.
    queueMicrotask(next);
  }
}
