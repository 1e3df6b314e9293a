import { MortiseError, type Observation } from 'mortise/sdk';
import type { Ticket } from './ticket.js';

/** Counts the tickets that are accepted and not settled. */
export class OpenTickets {
  #open = 0;
  #waiters: (() => void)[] = [];

  begin(): void {
    this.#open += 1;
  }

  end(): void {
    this.#open -= 1;
    if (this.#open === 0) for (const wake of this.#waiters.splice(0)) wake();
  }

  /** Resolves with true once no ticket is open, or with false after `ms`. */
  whenNone(ms: number): Promise<boolean> {
    if (this.#open === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ms);
      this.#waiters.push(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }
}

/** Accepted observations that were not handled before the time limit of a stop. */
export interface Unhandled {
  /** Their handlers never started: nothing of them is stored. */
  readonly queued: readonly Observation[];
  /** Their handlers were aborted. */
  readonly begun: readonly Observation[];
}

interface DrainOptions {
  readonly open: OpenTickets;
  /** All unsettled tickets, on the bus and in every session. */
  readonly unsettled: () => Iterable<Ticket>;
  readonly unhandled: (left: Unhandled) => void;
  /** Time limit of accepted work, milliseconds. */
  readonly workMs: number;
  /** Time limit, after that, of what aborted turns still publish, milliseconds. */
  readonly repliesMs: number;
}

/**
 * Resolves when everything accepted is handled. After `workMs` it reports and cancels turns and what is queued, except
 * agents' messages; after another `repliesMs` also the messages that are still queued.
 */
export async function drainAccepted({ open, unsettled, unhandled, workMs, repliesMs }: DrainOptions): Promise<void> {
  const cancelRest = (which: (ticket: Ticket) => boolean): void => {
    const left = [...unsettled()].filter(which);
    if (left.length === 0) return;
    const observations = (running: boolean): readonly Observation[] =>
      left.filter(({ state }) => (state === 'running') === running).map(({ observation }) => observation);
    unhandled({ queued: observations(false), begun: observations(true) });
    const reason = new MortiseError('server_shutdown', 'The server is shutting down.', { status: 503 });
    for (const ticket of left) ticket.cancel(reason);
  };
  if (await open.whenNone(workMs)) return;
  // An agent's message that is queued behind a turn that ends now is still sent.
  cancelRest(({ silent }) => !silent);
  if (!(await open.whenNone(repliesMs))) cancelRest(({ state }) => state === 'queued');
}
