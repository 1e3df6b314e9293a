import { isAgentGenerated, type SubmitOptions } from 'mortise/contracts/conversation';
import type { Observation, Points } from 'mortise/sdk';
import type { HandlersOf } from './handler-table.js';
import type { LiveSession } from './live-session.js';
import type { LiveSessions } from './live-sessions.js';
import type { Ticket } from './ticket.js';

/** Places of an inbox that only agents' own messages may take. */
const silentReserve = 64;

interface InboxesDeps {
  readonly points: Points;
  readonly live: LiveSessions;
  readonly capacity: number;
  readonly handlers: HandlersOf;
  /** `loop_guard.allow`: sources of agents that may start a turn in another session. */
  readonly loopAllowed: () => readonly string[];
  /** An inbox had no room for an observation. */
  readonly overflowed: (session: LiveSession, observation: Observation) => void;
  /** A session has something in its inbox. */
  readonly wake: (session: LiveSession) => void;
}

/** Moves accepted tickets into the inbox of their session, and enforces the limits of inboxes and of waiting callers. */
export class Inboxes {
  readonly #deps: InboxesDeps;

  constructor(deps: InboxesDeps) {
    this.#deps = deps;
  }

  /** Checks the caller's own limits: whether it waits at all, and behind how many turns. */
  refuses(target: string, { wait }: SubmitOptions): 'busy' | 'queue_full' | undefined {
    const turns = this.#deps.live.get(target)?.turns ?? 0;
    if (turns === 0) return undefined;
    if (wait.timeoutMs <= 0) return 'busy';
    return turns - 1 >= wait.limit ? 'queue_full' : undefined;
  }

  /** @returns false, and reports an overflow, when the session's inbox has no room */
  fits(observation: Observation, session: LiveSession): boolean {
    // An idle worker takes one at once.
    const free = this.#deps.capacity + (session.working ? 0 : 1) - session.depth - session.onBus;
    // A turn's own reply must not be lost because many others wait for their turns.
    if (free > 0 || (free > -silentReserve && this.#silent(observation))) return true;
    this.#deps.overflowed(session, observation);
    return false;
  }

  /** Moves a ticket from the bus into the inbox of its session. */
  arrive(ticket: Ticket): void {
    const session = this.#deps.live.open(ticket.observation.session_key ?? '');
    session.onBus -= 1;
    if (ticket.state === 'settled') return;
    // Checked again: several may have been accepted before the first was routed.
    const refusal = ticket.submit && this.refuses(session.key, ticket.submit);
    if (refusal) ticket.settle({ outcome: refusal });
    else this.enter(ticket, session);
  }

  /** Leases the handlers of a ticket, puts it into the inbox and wakes the worker. */
  enter(ticket: Ticket, session: LiveSession): void {
    ticket.silent = this.#silent(ticket.observation);
    try {
      ticket.handlers = this.#hold(ticket);
    } catch {
      // A handler was withdrawn in between.
      ticket.settle({ outcome: 'cancelled' });
      return;
    }
    ticket.session = session;
    if (ticket.turn) session.turns += 1;
    if (session.working) ticket.queue();
    session.push(ticket);
    this.#deps.wake(session);
  }

  /** Removes a settled ticket from its session. */
  leave(ticket: Ticket): void {
    const { session } = ticket;
    if (!session) return;
    if (ticket.turn) session.turns -= 1;
    if (session.current !== ticket) session.remove(ticket);
  }

  #hold(ticket: Ticket): Ticket['handlers'] {
    if (ticket.silent) return [];
    const { observation, principal, submit } = ticket;
    const options = {
      principal,
      requestId: submit?.requestId,
      correlationId: observation.correlation_id,
      trace: submit?.trace,
    };
    const { points, handlers } = this.#deps;
    return handlers(observation.obs_type).map(({ key, timeoutMs }) =>
      points.hold('observation-handler', key, { ...options, timeoutMs }),
    );
  }

  /** An agent's message starts no turn, unless its source is allowed to and it comes from another session. */
  #silent(observation: Observation): boolean {
    if (observation.obs_type !== 'message' || !isAgentGenerated(observation)) return false;
    const from = observation.metadata.origin_session_key;
    if (from === undefined || from === observation.session_key) return true;
    return !this.#deps.loopAllowed().includes(observation.source_name);
  }
}
