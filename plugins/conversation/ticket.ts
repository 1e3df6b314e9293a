import type { ObservationHandler, Settled, SubmitOptions } from 'mortise/contracts/conversation';
import type { GateDecision } from 'mortise/contracts/gate';
import type { HeldCall, Observation } from 'mortise/sdk';
import type { LiveSession } from './live-session.js';

export type TicketState = 'queued' | 'running' | 'settled';

/** Whoever has to know that a ticket is settled: told once. */
export type TicketOwner = (ticket: Ticket) => void;

type Outcome = Omit<Settled, 'observation'>;

/**
 * One accepted observation on its way through bus, inbox and worker. It is settled exactly once; one that is settled
 * while it stands in a queue is never handled.
 */
export class Ticket {
  readonly observation: Observation;
  readonly submit: SubmitOptions | undefined;
  readonly decided: ((decision: GateDecision) => void) | undefined;
  /** Submitted from inside a running turn: it needs no place under the limit of concurrent turns. */
  readonly nested: boolean;
  /** Where it is handled, from its delivery on. */
  session: LiveSession | undefined;
  /** An agent said it, so that it starts no turn. */
  silent = false;
  /** Their leases are taken with the delivery: a plugin that is being stopped still handles what was accepted before. */
  handlers: readonly HeldCall<ObservationHandler>[] = none;
  /** Runs when it gives up while it waits for a place. */
  gaveUp: (() => void) | undefined;
  readonly #owner: TicketOwner;
  #state: TicketState = 'queued';
  #waiter: ((settled: Settled) => void) | undefined;
  #left: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    observation: Observation,
    owner: TicketOwner,
    submit: SubmitOptions | undefined,
    nested: boolean,
    decided: ((decision: GateDecision) => void) | undefined,
  ) {
    this.observation = observation;
    this.submit = submit;
    this.decided = decided;
    this.nested = nested;
    this.#owner = owner;
  }

  /** It will be a turn: what limits of turns count. */
  get turn(): boolean {
    return this.observation.obs_type === 'message' && !this.silent;
  }

  get state(): TicketState {
    return this.#state;
  }

  /** For a caller that waits: from now on its leaving ends the ticket. */
  wait(): Promise<Settled> {
    return new Promise((resolve) => {
      this.#waiter = resolve;
      const signal = this.submit?.signal;
      if (!signal) return;
      this.#left = () => this.cancel(signal.reason);
      if (signal.aborted) this.#left();
      else signal.addEventListener('abort', this.#left, { once: true });
    });
  }

  /** Somebody stands before it: from now on its caller's patience counts. */
  queue(): void {
    const patience = this.submit?.wait.timeoutMs ?? 0;
    if (patience <= 0 || this.#state !== 'queued' || this.#timer) return;
    this.#timer = setTimeout(() => this.settle({ outcome: 'queue_timeout' }), patience);
  }

  /** Its handler begins: from here on only the handler ends it. */
  begin(): void {
    clearTimeout(this.#timer);
    if (this.#state === 'queued') this.#state = 'running';
  }

  /** Removes it from its queue, or tells its handlers to stop. */
  cancel(reason: unknown): void {
    if (this.#state === 'queued') this.settle({ outcome: 'cancelled' });
    else if (this.#state === 'running') for (const handler of this.handlers) handler.abort(reason);
  }

  settle(outcome: Outcome): void {
    if (this.#state === 'settled') return;
    const unused = this.#state === 'queued';
    this.#state = 'settled';
    clearTimeout(this.#timer);
    if (this.#left) this.submit?.signal?.removeEventListener('abort', this.#left);
    if (unused) for (const handler of this.handlers) handler.release();
    this.#owner(this);
    this.gaveUp?.();
    this.#waiter?.({ ...outcome, observation: this.observation });
  }
}

const none: readonly HeldCall<ObservationHandler>[] = Object.freeze([]);
