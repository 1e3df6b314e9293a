import type { ObservationHandler, Settled, SubmitOptions } from 'mortise/contracts/conversation';
import type { GateDecision } from 'mortise/contracts/gate';
import type { HeldCall, Observation, Principal } from 'mortise/sdk';

type TicketState = 'queued' | 'running' | 'settled';

type Outcome = Omit<Settled, 'observation'>;

/** The session whose inbox a ticket is in. */
interface TicketSession {
  readonly key: string;
  /** Turns in the inbox and the one that runs. */
  turns: number;
  readonly current: Ticket | undefined;
  remove(ticket: Ticket): void;
}

/**
 * One accepted observation on its way through bus, inbox and worker. It is settled exactly once; a ticket that is settled
 * while it is queued is never handled.
 */
export class Ticket {
  readonly observation: Observation;
  /** The principal that its handlers run for. */
  readonly principal: Principal;
  readonly submit: SubmitOptions | undefined;
  readonly decided: ((decision: GateDecision) => void) | undefined;
  /** Submitted from inside a running turn: exempt from the limit of concurrent turns. */
  readonly nested: boolean;
  /** The session that handles it, once it is in the inbox. */
  session: TicketSession | undefined;
  /** An agent's own message, which starts no turn. */
  silent = false;
  /** Leased on arrival in the inbox: a plugin that is stopping still handles what was accepted before. */
  handlers: readonly HeldCall<ObservationHandler>[] = none;
  /** Called when it is settled while it waits for a turn slot. */
  gaveUp: (() => void) | undefined;
  readonly #settled: (ticket: Ticket) => void;
  #state: TicketState = 'queued';
  #waiter: ((settled: Settled) => void) | undefined;
  #onAbort: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param settled called once, when the ticket is settled */
  constructor(
    observation: Observation,
    principal: Principal,
    settled: (ticket: Ticket) => void,
    submit: SubmitOptions | undefined,
    nested: boolean,
    decided: ((decision: GateDecision) => void) | undefined,
  ) {
    this.observation = observation;
    this.principal = principal;
    this.submit = submit;
    this.decided = decided;
    this.nested = nested;
    this.#settled = settled;
  }

  /** Whether it is a turn, which the turn limits count. */
  get turn(): boolean {
    return this.observation.obs_type === 'message' && !this.silent;
  }

  get state(): TicketState {
    return this.#state;
  }

  /** Resolves when the ticket is settled; from now on the caller's signal cancels it. */
  wait(): Promise<Settled> {
    return new Promise((resolve) => {
      this.#waiter = resolve;
      const signal = this.submit?.signal;
      if (!signal) return;
      this.#onAbort = () => this.cancel(signal.reason);
      if (signal.aborted) this.#onAbort();
      else signal.addEventListener('abort', this.#onAbort, { once: true });
    });
  }

  /** The ticket has to wait behind others: starts the caller's queue timeout. */
  queue(): void {
    const timeoutMs = this.submit?.wait.timeoutMs ?? 0;
    if (timeoutMs <= 0 || this.#state !== 'queued' || this.#timer) return;
    this.#timer = setTimeout(() => this.settle({ outcome: 'queue_timeout' }), timeoutMs);
  }

  /** Its first handler starts: from now on only the handlers end it. */
  begin(): void {
    clearTimeout(this.#timer);
    if (this.#state === 'queued') this.#state = 'running';
  }

  /** Removes it from its queue, or aborts its handlers. */
  cancel(reason: unknown): void {
    if (this.#state === 'queued') this.settle({ outcome: 'cancelled' });
    else if (this.#state === 'running') for (const handler of this.handlers) handler.abort(reason);
  }

  settle(outcome: Outcome): void {
    if (this.#state === 'settled') return;
    const unused = this.#state === 'queued';
    this.#state = 'settled';
    clearTimeout(this.#timer);
    if (this.#onAbort) this.submit?.signal?.removeEventListener('abort', this.#onAbort);
    if (unused) for (const handler of this.handlers) handler.release();
    this.#settled(this);
    this.gaveUp?.();
    this.#waiter?.({ ...outcome, observation: this.observation });
  }
}

const none: readonly HeldCall<ObservationHandler>[] = Object.freeze([]);
