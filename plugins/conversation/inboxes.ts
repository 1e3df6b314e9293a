import type { SubmitOptions } from 'mortise/contracts/conversation';
import type { Observation, ObservationType, Points } from 'mortise/sdk';
import type { HandlerEntry } from './handler-table.js';
import type { LiveSession } from './live-session.js';
import type { LiveSessions } from './live-sessions.js';
import { isAgentGenerated } from './loop-guard.js';
import type { Ticket } from './ticket.js';

/** Places of an inbox that only what an agent said may take. */
const ownReserve = 64;

export interface InboxesPorts {
  readonly points: Points;
  readonly live: LiveSessions;
  readonly capacity: number;
  /** The active handlers of a type, in order. */
  readonly handlers: (type: ObservationType) => readonly HandlerEntry[];
  /** Sources of agents that may start a turn in another session. */
  readonly loopAllowed: () => readonly string[];
  /** An observation had no place. */
  readonly overflowed: (session: LiveSession, observation: Observation) => void;
  /** There is something to do in a session. */
  readonly wake: (session: LiveSession) => void;
}

/** Puts what was accepted into the inbox of its session, and knows what still fits there. */
export class Inboxes {
  readonly #ports: InboxesPorts;

  constructor(ports: InboxesPorts) {
    this.#ports = ports;
  }

  /** Limits of a caller's own wait, before its observation is accepted. */
  refuses(target: string, { wait }: SubmitOptions): 'busy' | 'queue_full' | undefined {
    const turns = this.#ports.live.get(target)?.turns ?? 0;
    if (turns === 0) return undefined;
    if (wait.timeoutMs <= 0) return 'busy';
    return turns - 1 >= wait.limit ? 'queue_full' : undefined;
  }

  /** False when the session's inbox has no place for it, which is told. */
  fits(observation: Observation, session: LiveSession): boolean {
    // An idle worker takes one out at once.
    const free = this.#ports.capacity + (session.working ? 0 : 1) - session.depth - session.coming;
    // What a turn itself says must not be lost because many others wait for their turns.
    if (free > 0 || (free > -ownReserve && this.#silent(observation))) return true;
    this.#ports.overflowed(session, observation);
    return false;
  }

  /** From the bus into the inbox of its session. */
  arrive(ticket: Ticket): void {
    const session = this.#ports.live.open(ticket.observation.session_key ?? '');
    session.coming -= 1;
    if (ticket.state === 'settled') return;
    // Asked again: several may have been accepted in one go.
    const refusal = ticket.submit && this.refuses(session.key, ticket.submit);
    if (refusal) ticket.settle({ outcome: refusal });
    else this.enter(ticket, session);
  }

  /** Takes the leases of its handlers and wakes the worker. */
  enter(ticket: Ticket, session: LiveSession): void {
    ticket.silent = this.#silent(ticket.observation);
    try {
      ticket.handlers = this.#hold(ticket);
    } catch {
      // Its handler has gone in between.
      ticket.settle({ outcome: 'cancelled' });
      return;
    }
    ticket.session = session;
    if (ticket.turn) session.turns += 1;
    if (session.working) ticket.queue();
    session.push(ticket);
    this.#ports.wake(session);
  }

  /** Takes what was settled out of the books of its session. */
  leave(ticket: Ticket): void {
    const { session } = ticket;
    if (!session) return;
    if (ticket.turn) session.turns -= 1;
    if (session.current !== ticket) session.remove(ticket);
  }

  #hold(ticket: Ticket): Ticket['handlers'] {
    if (ticket.silent) return [];
    const { observation, submit } = ticket;
    const options = {
      principal: submit?.principal,
      requestId: submit?.requestId,
      correlationId: observation.correlation_id,
      trace: submit?.trace,
    };
    const { points, handlers } = this.#ports;
    return handlers(observation.obs_type).map(({ key, timeoutMs }) =>
      points.hold('observation-handler', key, { ...options, timeoutMs }),
    );
  }

  /** What an agent said starts no turn, unless it is allowed to and speaks to another session. */
  #silent(observation: Observation): boolean {
    if (observation.obs_type !== 'message' || !isAgentGenerated(observation)) return false;
    const from = observation.metadata.origin_session_key;
    if (from === undefined || from === observation.session_key) return true;
    return !this.#ports.loopAllowed().includes(observation.source_name);
  }
}
