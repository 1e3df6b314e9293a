import { MortiseError, type Observation } from 'mortise/sdk';
import type { OpenTickets } from './open-tickets.js';
import type { Ticket } from './ticket.js';

/** What was accepted and has not ended. */
export interface Unhandled {
  /** Never begun: nothing is stored of them. */
  readonly queued: readonly Observation[];
  /** Their handlers were told to stop. */
  readonly begun: readonly Observation[];
}

export interface EndAcceptedPorts {
  readonly open: OpenTickets;
  /** All that is not settled, wherever it stands. */
  readonly unsettled: () => Iterable<Ticket>;
  readonly unhandled: (left: Unhandled) => void;
}

/**
 * Resolves when all that was accepted has been handled, and what came of it, or after `ms`: the rest is then named and
 * ended, first turns and what waits for them, then, `lastWordsMs` later, what these still had to say.
 */
export async function endAccepted(ms: number, lastWordsMs: number, ports: EndAcceptedPorts): Promise<void> {
  if (await ports.open.whenNone(ms)) return;
  // What an agent has said waits behind turns that end now, and still goes out.
  endRest(ports, ({ silent }) => !silent);
  if (!(await ports.open.whenNone(lastWordsMs))) endRest(ports, ({ state }) => state === 'queued');
}

function endRest({ unsettled, unhandled }: EndAcceptedPorts, which: (ticket: Ticket) => boolean): void {
  const left = [...unsettled()].filter(which);
  if (left.length === 0) return;
  const named = (begun: boolean): readonly Observation[] =>
    left.filter(({ state }) => (state === 'running') === begun).map(({ observation }) => observation);
  unhandled({ queued: named(false), begun: named(true) });
  const reason = new MortiseError('server_shutdown', 'The server is shutting down.', { status: 503 });
  for (const ticket of left) ticket.cancel(reason);
}
