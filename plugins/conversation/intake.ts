import {
  isSystemPlane,
  type PublishOptions,
  type PublishRefusal,
  type PublishResult,
  type Settled,
  type SubmitOptions,
} from 'mortise/contracts/conversation';
import {
  isJsonObject,
  type Observation,
  type ObservationError,
  type ObservationInput,
  platformPrincipal,
} from 'mortise/sdk';
import type { AlertCode } from './alerts.js';
import type { Cooldowns } from './cooldowns.js';
import { OpenTickets } from './drain.js';
import type { HandlersOf } from './handler-table.js';
import type { Inboxes } from './inboxes.js';
import { InputBus, type Schedule } from './input-bus.js';
import type { LiveSession } from './live-session.js';
import type { LiveSessions } from './live-sessions.js';
import { readObservation } from './observation/read-observation.js';
import { type RouteFacts, type Routing, routeObservation } from './observation/route-observation.js';
import { Ticket } from './ticket.js';
import type { WaitGraph } from './wait-graph.js';

/** How long a waiting caller waits for room on a full bus, milliseconds. */
const roomMs = 1_000;

interface IntakeDeps {
  readonly handlers: HandlersOf;
  readonly cooldowns: Cooldowns;
  readonly routing: Routing;
  readonly busCapacity: number;
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly schedule: Schedule;
  readonly raise: (code: AlertCode, session: LiveSession | undefined, detail: Record<string, unknown>) => void;
  readonly refused: (reason: PublishRefusal) => void;
  readonly live: LiveSessions;
  readonly inboxes: Inboxes;
  readonly waits: WaitGraph;
}

/** An input that throws on access: a getter, a proxy. */
const unreadable: ObservationError = {
  path: '',
  code: 'payload_mismatch',
  message: 'the observation cannot be read',
};

/** An observation without a principal is never handled on behalf of the platform. */
const withoutPrincipal: ObservationError = {
  path: 'principal',
  code: 'required',
  message:
    'an observation is published for a principal: that of the call, or platformPrincipal for the platform itself',
};

/** Options as they arrive: plugins in JavaScript may omit what the types require. */
type Given<Options extends PublishOptions> = Omit<Options, 'principal'> & Partial<Pick<Options, 'principal'>>;

/** A valid observation with its principal, or why it is refused. */
type Read<Options> =
  | {
      readonly ok: true;
      readonly observation: Observation;
      readonly options: Options & Pick<PublishOptions, 'principal'>;
    }
  | Extract<PublishResult, { ok: false }>;

/**
 * Accepts observations: validates and routes them, and puts them on the bus or refuses them with a reason. `inside` means
 * that an observation was published while handling an accepted one; a draining bus still takes it.
 */
export class Intake {
  readonly open = new OpenTickets();
  readonly bus: InputBus;
  readonly #deps: IntakeDeps;

  constructor(deps: IntakeDeps) {
    this.#deps = deps;
    this.bus = new InputBus({
      capacity: deps.busCapacity,
      consume: (ticket) => deps.inboxes.arrive(ticket),
      schedule: deps.schedule,
    });
  }

  /** For producers without a waiting caller. Never throws and never blocks. */
  publish(input: ObservationInput, options: Given<PublishOptions> = {}, inside = this.#inside): PublishResult {
    const read = this.#read(input, options, inside);
    return read.ok ? this.#publish(read.observation, read.options, inside) : read;
  }

  /** As {@link publish}, but waits for room on the bus. */
  async publishOrWait(
    input: ObservationInput,
    options: Given<PublishOptions> & { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
  ): Promise<PublishResult> {
    const inside = this.#inside;
    const read = this.#read(input, options, inside);
    if (!read.ok) return read;
    if (!this.#hasRoom(read.observation)) {
      await this.#waitForRoom(read.observation, inside, options.timeoutMs ?? roomMs, options.signal);
    }
    return this.#publish(read.observation, read.options, inside);
  }

  /** For callers that wait until the observation is handled. Never rejects. */
  async submit(input: ObservationInput, given: Given<SubmitOptions>): Promise<Settled> {
    const { waits, inboxes } = this.#deps;
    const from = waits.current;
    const inside = from !== undefined;
    const read = this.#read(input, given, inside);
    if (!read.ok) {
      if (read.reason === 'closed') return { outcome: 'closed' };
      if (read.reason === 'adapter_cooldown') return { outcome: 'cooldown' };
      return { outcome: 'invalid', errors: read.errors ?? [] };
    }
    const { observation, options } = read;
    if (this.#deps.handlers(observation.obs_type).length === 0) return { outcome: 'closed', observation };
    const target = observation.session_key ?? '';
    if (from !== undefined && waits.wouldDeadlock(from, target)) return { outcome: 'busy', observation };
    const refusal = inboxes.refuses(target, options);
    if (refusal) return { outcome: refusal, observation };
    const done = from === undefined ? undefined : waits.wait(from, target);
    try {
      // Checked without a wait first: an observation that fits is accepted synchronously, in the order of submits.
      if (!this.#hasRoom(observation) && !(await this.#waitForRoom(observation, inside, roomMs, options.signal))) {
        return { outcome: options.signal?.aborted ? 'cancelled' : 'backpressure', observation };
      }
      const { principal, decided } = options;
      const ticket = new Ticket(observation, principal, this.#settled, options, inside, decided);
      const reason = this.#offer(ticket, inside);
      if (reason === 'inbox_full') return { outcome: 'queue_full', observation };
      if (reason !== undefined) return { outcome: reason === 'closed' ? 'closed' : 'backpressure', observation };
      return await ticket.wait();
    } finally {
      done?.();
    }
  }

  /** Validates and routes an observation without publishing or counting it. */
  preview(input: ObservationInput): PublishResult {
    try {
      const read = readObservation(input, this.#deps.now(), this.#route);
      return read.ok ? read : { ok: false, dropped: true, reason: 'invalid', errors: read.errors };
    } catch {
      return { ok: false, dropped: true, reason: 'invalid', errors: [unreadable] };
    }
  }

  /** Puts an observation into the inbox of a session directly; false when it has no room or was collected. */
  enter(input: ObservationInput, session: LiveSession): boolean {
    const { live, inboxes } = this.#deps;
    const read = this.preview(input);
    if (!read.ok || live.get(session.key) !== session) return false;
    if (!inboxes.fits(read.observation, session)) return false;
    this.open.begin();
    inboxes.enter(new Ticket(read.observation, platformPrincipal, this.#settled, undefined, false, undefined), session);
    return true;
  }

  /** All tickets that are accepted and not settled. */
  *unsettled(): Iterable<Ticket> {
    yield* this.bus.waiting();
    for (const session of [...this.#deps.live.all()]) yield* session.open;
  }

  /** Whether the caller runs inside of a handler. */
  get #inside(): boolean {
    return this.#deps.waits.current !== undefined;
  }

  /** Checks in this order: closed, cooldown, validity, principal. Counts the attempt and its refusal. */
  #read<Options extends Given<PublishOptions>>(
    input: ObservationInput,
    options: Options,
    inside: boolean,
  ): Read<Options> {
    this.bus.attempt();
    if (this.bus.shut(inside)) return { ok: false, dropped: true, reason: this.#refused('closed') };
    if (this.#coolsDown(input, options.adapter)) {
      return { ok: false, dropped: true, reason: this.#refused('adapter_cooldown') };
    }
    const read = this.preview(input);
    if (read.ok && hasPrincipal(options)) return { ok: true, observation: read.observation, options };
    this.#refused('invalid');
    return read.ok ? { ok: false, dropped: true, reason: 'invalid', errors: [withoutPrincipal] } : read;
  }

  #publish(observation: Observation, { principal, decided, adapter }: PublishOptions, inside: boolean): PublishResult {
    const ticket = new Ticket(observation, principal, this.#settled, undefined, false, decided);
    const reason = this.#offer(ticket, inside);
    if (reason === undefined) return { ok: true, observation };
    const { source_name } = observation;
    // Publishers that name their adapter raise this alert themselves.
    if (reason === 'queue_full' && adapter === undefined) {
      this.#deps.raise('input_bus_backpressure', undefined, { source_name });
    }
    return { ok: false, dropped: true, reason: reason === 'inbox_full' ? 'queue_full' : reason };
  }

  /** Puts a ticket on the bus. @returns the reason when it was refused */
  #offer(ticket: Ticket, inside: boolean): PublishRefusal | 'inbox_full' | undefined {
    if (this.bus.shut(inside)) return this.#refused('closed');
    if (!this.#hasRoom(ticket.observation)) return this.#refused('queue_full');
    // The inbox is checked now and not on arrival: what is accepted will be handled.
    const session = this.#deps.live.open(ticket.observation.session_key ?? '');
    if (!this.#deps.inboxes.fits(ticket.observation, session)) return 'inbox_full';
    session.onBus += 1;
    session.publishers.add(ticket.principal.id);
    this.open.begin();
    this.bus.accept(ticket);
    return undefined;
  }

  #hasRoom(observation: Observation): boolean {
    return this.bus.hasRoom(isSystemPlane(observation));
  }

  /** @returns false when there was no room within `ms` */
  async #waitForRoom(
    observation: Observation,
    inside: boolean,
    ms: number,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const deadline = this.#deps.monotonic() + ms;
    while (!this.#hasRoom(observation)) {
      const left = deadline - this.#deps.monotonic();
      if (left <= 0 || this.bus.shut(inside) || signal?.aborted) return false;
      await this.bus.whenRoom(left, signal);
    }
    return true;
  }

  readonly #route = (facts: RouteFacts): string | ObservationError => routeObservation(facts, this.#deps.routing);

  readonly #settled = (ticket: Ticket): void => {
    this.#deps.inboxes.leave(ticket);
    this.open.end();
  };

  #coolsDown(input: ObservationInput, adapter: string | undefined): boolean {
    try {
      return isJsonObject(input) && this.#deps.cooldowns.refuses(input, adapter);
    } catch {
      // The input throws on access, which `preview` reports.
      return false;
    }
  }

  #refused(reason: PublishRefusal): PublishRefusal {
    this.bus.refuse(reason);
    this.#deps.refused(reason);
    return reason;
  }
}

function hasPrincipal<Options extends Given<PublishOptions>>(
  options: Options,
): options is Options & Pick<PublishOptions, 'principal'> {
  return Boolean(options.principal);
}
