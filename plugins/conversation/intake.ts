import type {
  BusStats,
  PublishOptions,
  PublishRefusal,
  PublishResult,
  SubmitOptions,
} from 'mortise/contracts/conversation';
import type { Observation, ObservationError, ObservationInput } from 'mortise/sdk';
import type { ConversationPorts } from './conversation-ports.js';
import type { Inboxes } from './inboxes.js';
import { InputBus } from './input-bus.js';
import type { LiveSession } from './live-session.js';
import type { LiveSessions } from './live-sessions.js';
import { OpenTickets } from './open-tickets.js';
import { isObject } from './problems.js';
import { readObservation } from './read-observation.js';
import { type RouteFacts, routeObservation } from './route-observation.js';
import { Ticket } from './ticket.js';

/** Places of the bus that only the platform's own observations may take. */
const systemReserve = 64;

export type IntakePorts = Pick<
  ConversationPorts,
  'cooldowns' | 'routing' | 'limits' | 'now' | 'monotonic' | 'schedule' | 'raise' | 'metrics'
> & { readonly live: LiveSessions; readonly inboxes: Inboxes };

/** What throws when it is looked at: an object with a getter of its own, a proxy. */
const unreadable: ObservationError = {
  path: '',
  code: 'payload_mismatch',
  message: 'the observation cannot be read',
};

/**
 * The way from outside into the inbox of a session: checked, routed, accepted on the bus or refused with a reason. `inside`
 * says everywhere that it comes from what was accepted before, which a bus that drains still takes.
 */
export class Intake {
  readonly open = new OpenTickets();
  readonly #ports: IntakePorts;
  readonly #bus: InputBus;

  constructor(ports: IntakePorts) {
    this.#ports = ports;
    this.#bus = new InputBus({
      capacity: ports.limits.busCapacity,
      reserve: systemReserve,
      consume: (ticket) => ports.inboxes.arrive(ticket),
      schedule: ports.schedule,
    });
  }

  publish(input: ObservationInput, options: PublishOptions, inside: boolean): PublishResult {
    const read = this.read(input, options.adapter, inside);
    return read.ok ? this.publishRead(read, options, inside) : read;
  }

  /** What the observation would be, or why it is refused; counted. */
  read(input: ObservationInput, adapter: string | undefined, inside: boolean): PublishResult {
    this.#bus.attempt();
    if (this.#bus.shut(inside)) return { ok: false, dropped: true, reason: this.#refused('closed') };
    if (this.#coolsDown(input, adapter)) {
      return { ok: false, dropped: true, reason: this.#refused('adapter_cooldown') };
    }
    const read = this.preview(input);
    if (!read.ok) this.#refused('invalid');
    return read;
  }

  /** As {@link read}, and nothing comes of it. */
  preview(input: ObservationInput): PublishResult {
    try {
      const read = readObservation(input, this.#ports.now(), this.#route);
      return read.ok ? read : { ok: false, dropped: true, reason: 'invalid', errors: read.errors };
    } catch {
      return { ok: false, dropped: true, reason: 'invalid', errors: [unreadable] };
    }
  }

  publishRead(read: Extract<PublishResult, { ok: true }>, options: PublishOptions, inside: boolean): PublishResult {
    const { observation } = read;
    const reason = this.offer(this.ticket(observation, undefined, false, options.decided), inside);
    if (reason === undefined) return read;
    const { source_name } = observation;
    // An adapter of the platform tells of it itself.
    if (reason === 'queue_full' && options.adapter === undefined) {
      this.#ports.raise('input_bus_backpressure', undefined, { source_name });
    }
    return { ok: false, dropped: true, reason: reason === 'inbox_full' ? 'queue_full' : reason };
  }

  ticket(observation: Observation, submit?: SubmitOptions, nested = false, decided = submit?.decided): Ticket {
    return new Ticket(observation, this.#settled, submit, nested, decided);
  }

  /** Puts a ticket on the bus; the reason when it was refused. */
  offer(ticket: Ticket, inside: boolean): PublishRefusal | 'inbox_full' | undefined {
    if (this.#bus.shut(inside)) return this.#refused('closed');
    if (!this.hasRoom(ticket.observation)) return this.#refused('queue_full');
    // Here and not on arrival: what is accepted is handled.
    const session = this.#ports.live.open(ticket.observation.session_key ?? '');
    if (!this.#ports.inboxes.fits(ticket.observation, session)) return 'inbox_full';
    session.coming += 1;
    this.open.begin();
    this.#bus.accept(ticket);
    return undefined;
  }

  /** Past the bus, straight into the inbox of a session; false when it has no place there. */
  enter(input: ObservationInput, session: LiveSession): boolean {
    const read = this.preview(input);
    // It may have been forgotten while others were served; it is not called back.
    if (!read.ok || this.#ports.live.get(session.key) !== session) return false;
    if (!this.#ports.inboxes.fits(read.observation, session)) return false;
    this.open.begin();
    this.#ports.inboxes.enter(this.ticket(read.observation), session);
    return true;
  }

  hasRoom(observation: Observation): boolean {
    return this.#bus.hasRoom(isSystem(observation));
  }

  /** Waits for room on the bus; false when there was none. */
  async room(observation: Observation, inside: boolean, ms: number, signal: AbortSignal | undefined): Promise<boolean> {
    const deadline = this.#ports.monotonic() + ms;
    while (!this.hasRoom(observation)) {
      const left = deadline - this.#ports.monotonic();
      if (left <= 0 || this.#bus.shut(inside) || signal?.aborted) return false;
      await this.#bus.room(left, signal);
    }
    return true;
  }

  shut(inside: boolean): boolean {
    return this.#bus.shut(inside);
  }

  drain(): void {
    this.#bus.drain();
  }

  close(): void {
    this.#bus.close();
  }

  /** All that is accepted and not settled. */
  *unsettled(): Iterable<Ticket> {
    yield* this.#bus.waiting();
    for (const session of [...this.#ports.live.all()]) yield* session.open;
  }

  stats(): Omit<BusStats, 'inbox_dropped' | 'sessions' | 'running' | 'queued'> {
    return this.#bus.stats();
  }

  readonly #route = (facts: RouteFacts): string | ObservationError => routeObservation(facts, this.#ports.routing);

  /** Every accepted ticket comes by here once. */
  readonly #settled = (ticket: Ticket): void => {
    this.#ports.inboxes.leave(ticket);
    this.open.end();
  };

  #coolsDown(input: ObservationInput, adapter: string | undefined): boolean {
    try {
      return isObject(input) && this.#ports.cooldowns.refuses(input, adapter);
    } catch {
      // Why it cannot be read is told where it is read.
      return false;
    }
  }

  #refused(reason: PublishRefusal): PublishRefusal {
    this.#bus.refuse(reason);
    this.#ports.metrics.busDropped(reason);
    return reason;
  }
}

function isSystem(observation: Observation): boolean {
  return observation.obs_type !== 'message' && observation.obs_type !== 'world_data';
}
