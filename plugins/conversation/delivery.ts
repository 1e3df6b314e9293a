import type { ObservationHandler } from 'mortise/contracts/conversation';
import type { GateOutcome } from 'mortise/contracts/gate';
import { type CallContext, type CallEnd, isCodedError, type Observation } from 'mortise/sdk';
import { HandlerCall } from './handler-call.js';
import type { LiveSession } from './live-session.js';
import type { Ticket } from './ticket.js';
import type { RunningHandler } from './wait-graph.js';
import type { WorkerPorts } from './worker-ports.js';

/** Errors that say the handler's plugin was going away, not that it failed. */
const goneCodes = ['contribution_unknown', 'plugin_stopping', 'call_aborted'];

/** One delivered observation and its handlers, one after the other. It may end before {@link start} returns, or later. */
export class Delivery implements RunningHandler {
  readonly sessionKey: string;
  readonly #session: LiveSession;
  readonly #ticket: Ticket;
  readonly #outcome: GateOutcome;
  readonly #observation: Observation;
  readonly #ports: WorkerPorts;
  /** Goes on with the session; set once somebody has to wait. */
  #resume: ((session: LiveSession, ports: WorkerPorts) => void) | undefined;
  #next = 0;
  #holdsPlace = false;
  #failed = false;
  #gone = false;
  #value: unknown;
  #ended = false;

  constructor(session: LiveSession, ticket: Ticket, outcome: GateOutcome, ports: WorkerPorts) {
    this.sessionKey = session.key;
    this.#session = session;
    this.#ticket = ticket;
    this.#outcome = outcome;
    this.#observation = outcome.observation ?? ticket.observation;
    this.#ports = ports;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** @returns true when it has ended already; otherwise `resume` is called when it does */
  start(resume: (session: LiveSession, ports: WorkerPorts) => void): boolean {
    const { slots } = this.#ports;
    const ticket = this.#ticket;
    const limited = ticket.turn && !ticket.nested;
    if (!limited || slots.take()) {
      this.#holdsPlace = limited;
      this.#begin();
    } else this.#wait();
    if (!this.#ended) this.#resume = resume;
    return this.#ended;
  }

  #wait(): void {
    const ticket = this.#ticket;
    const leave = this.#ports.slots.wait(() => {
      ticket.gaveUp = undefined;
      if (this.#ended) this.#ports.slots.give();
      else {
        this.#holdsPlace = true;
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
    const { waits, publish } = this.#ports;
    const call = new HandlerCall(ctx, this.#ticket, this.#observation, this.#outcome.decision, publish);
    return waits.run(this, callHandler, handler, this.#observation, call);
  };

  readonly #handled = (end: CallEnd): void => {
    if (end.ok) this.#value ??= end.value;
    else if (isCodedError(end.error) && goneCodes.includes(end.error.code)) this.#gone = true;
    else {
      this.#failed = true;
      this.#ports.fault(this.#session, this.#observation, 'handler', end.error);
    }
    this.#run();
  };

  #finish(): void {
    const outcome = this.#failed ? 'error' : this.#gone ? 'cancelled' : 'handled';
    if (outcome !== 'cancelled') this.#ports.count(outcome);
    this.#ticket.settle({ outcome, decision: this.#outcome.decision, value: this.#value });
    this.#end();
  }

  #end(): void {
    this.#ended = true;
    if (this.#holdsPlace) this.#ports.slots.give();
    this.#resume?.(this.#session, this.#ports);
  }
}

function callHandler(handler: ObservationHandler, observation: Observation, call: HandlerCall): unknown {
  return handler.handle(observation, call);
}
