import type {
  BusStats,
  Observation,
  ObservationError,
  ObservationInput,
  ObservationType,
  Points,
  PublishOptions,
  PublishRefusal,
  PublishResult,
  SessionState,
  SessionSummary,
  Settled,
  SubmitOptions,
} from 'mortise/sdk';
import { isCodedError, MortiseError } from 'mortise/sdk';
import type { Cooldowns } from './cooldowns.js';
import { cutText } from './cut-text.js';
import type { EgressHub } from './egress/egress-hub.js';
import type { HandlerEntry } from './handler-table.js';
import { Inboxes } from './inboxes.js';
import { InputBus, type Schedule } from './input-bus.js';
import type { LiveSession } from './live-session.js';
import { LiveSessions } from './live-sessions.js';
import type { ConversationMetrics } from './metrics.js';
import { OpenTickets } from './open-tickets.js';
import { readObservation } from './read-observation.js';
import { fanOutSource, type RouteFacts, type Routing, routeObservation, systemSession } from './route-observation.js';
import { Ticket } from './ticket.js';
import { TurnSlots } from './turn-slots.js';
import { WaitGraph } from './wait-graph.js';
import { type WorkerPorts, work } from './worker.js';

/** How long a caller that waits is kept when the bus is full, milliseconds. */
const roomMs = 1_000;

/** Sessions that a fan-out serves before others get a turn of the event loop. */
const fanOutBatch = 500;

export interface ConversationPorts {
  readonly points: Points;
  /** The active handlers of a type, in order. */
  readonly handlers: (type: ObservationType) => readonly HandlerEntry[];
  readonly gate: WorkerPorts['gate'];
  /** Sources of agents that may start a turn in another session. */
  readonly loopAllowed: () => readonly string[];
  readonly hub: EgressHub;
  readonly cooldowns: Cooldowns;
  readonly routing: Routing;
  readonly limits: {
    readonly busCapacity: number;
    readonly inboxCapacity: number;
    readonly concurrentTurns: number;
  };
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly schedule: Schedule;
  readonly raise: (code: AlertCode, session: LiveSession | undefined, detail: Record<string, unknown>) => void;
  /** What was accepted and has not ended before the limit of the stop. */
  readonly unhandled: (left: Unhandled) => void;
  readonly metrics: ConversationMetrics;
  readonly changed?: WorkerPorts['changed'];
}

export interface Unhandled {
  /** Never begun: nothing is stored of them. */
  readonly queued: readonly Observation[];
  /** Their handlers were told to stop. */
  readonly begun: readonly Observation[];
}

export type AlertCode = 'worker_error' | 'inbox_overflow' | 'input_bus_backpressure' | 'egress_queue_full';

/** The one path in: bus, router and a worker per session. */
export class Conversation {
  readonly live: LiveSessions;
  readonly #ports: ConversationPorts;
  readonly #bus: InputBus;
  readonly #waits = new WaitGraph();
  readonly #inboxes: Inboxes;
  readonly #open = new OpenTickets();
  #inboxDropped = 0;
  #typed = 0;

  constructor(ports: ConversationPorts) {
    this.#ports = ports;
    this.live = new LiveSessions(ports.now);
    this.#bus = new InputBus({
      capacity: ports.limits.busCapacity,
      reserve: 64,
      consume: (ticket) => this.#inboxes.arrive(ticket),
      schedule: ports.schedule,
    });
    const worker: WorkerPorts = {
      gate: ports.gate,
      slots: new TurnSlots(ports.limits.concurrentTurns),
      waits: this.#waits,
      publish: (observation) => this.#publish(observation, {}, true),
      egress: (observation) => ports.hub.enqueue(observation),
      now: ports.now,
      monotonic: ports.monotonic,
      fault: (session, observation, step, error) => {
        session.recordFault(
          `${step}: ${isCodedError(error) ? error.code : error instanceof Error ? error.name : 'error'}`,
        );
        ports.metrics.failed(step);
        ports.changed?.(session);
        const { obs_id, trace_id } = observation;
        ports.raise('worker_error', session, { step, obs_id, trace_id, ...describe(error) });
      },
      count: ports.metrics.count,
      flagged: ports.metrics.flagged,
      changed: ports.changed,
    };
    this.#inboxes = new Inboxes({
      points: ports.points,
      live: this.live,
      capacity: ports.limits.inboxCapacity,
      handlers: ports.handlers,
      loopAllowed: ports.loopAllowed,
      overflowed: (session, { obs_id }) => {
        this.#inboxDropped += 1;
        ports.metrics.inboxDropped();
        ports.raise('inbox_overflow', session, { obs_id });
      },
      wake: (session) => work(session, worker),
    });
  }

  publish(input: ObservationInput, options: PublishOptions = {}): PublishResult {
    return this.#publish(input, options, this.#inside);
  }

  async publishOrWait(
    input: ObservationInput,
    options: PublishOptions & { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
  ): Promise<PublishResult> {
    const inside = this.#inside;
    const read = this.#read(input, options.adapter, inside);
    if (!read.ok) return read;
    const { observation } = read;
    if (!this.#hasRoom(observation)) {
      await this.#room(observation, inside, options.timeoutMs ?? roomMs, options.signal);
    }
    return this.#published(read, options, inside);
  }

  async submit(input: ObservationInput, options: SubmitOptions): Promise<Settled> {
    const from = this.#waits.current;
    const inside = from !== undefined;
    const read = this.#read(input, options.adapter, inside);
    if (!read.ok) {
      if (read.reason === 'closed') return { outcome: 'closed' };
      if (read.reason === 'adapter_cooldown') return { outcome: 'cooldown' };
      return { outcome: 'invalid', errors: read.errors ?? [] };
    }
    const { observation } = read;
    if (this.#ports.handlers(observation.obs_type).length === 0) return { outcome: 'closed', observation };
    const target = observation.session_key ?? '';
    if (from !== undefined && this.#waits.wouldDeadlock(from, target)) return { outcome: 'busy', observation };
    const refusal = this.#inboxes.refuses(target, options);
    if (refusal) return { outcome: refusal, observation };
    const done = from === undefined ? undefined : this.#waits.wait(from, target);
    try {
      // Asked first: whoever finds room is accepted before this returns, and nobody overtakes it.
      if (!this.#hasRoom(observation) && !(await this.#room(observation, inside, roomMs, options.signal))) {
        return { outcome: options.signal?.aborted ? 'cancelled' : 'backpressure', observation };
      }
      const ticket = new Ticket(observation, this.#settled, options, inside);
      const reason = this.#offer(ticket, inside);
      if (reason === 'inbox_full') return { outcome: 'queue_full', observation };
      if (reason !== undefined) return { outcome: reason === 'closed' ? 'closed' : 'backpressure', observation };
      return await ticket.wait();
    } finally {
      done?.();
    }
  }

  busy(sessionKey: string): boolean {
    return (this.live.get(sessionKey)?.turns ?? 0) > 0;
  }

  session(sessionKey: string): SessionState | undefined {
    return this.live.get(sessionKey)?.state();
  }

  sessions(): readonly SessionSummary[] {
    return this.live.summaries();
  }

  preview(input: ObservationInput): PublishResult {
    const read = readObservation(input, this.#ports.now(), this.#route);
    return read.ok ? read : { ok: false, dropped: true, reason: 'invalid', errors: read.errors };
  }

  ingestText(text: string, options: { actor_id?: string; session_key?: string } = {}): PublishResult | null {
    if (text.trim() === '') return null;
    this.#typed += 1;
    const { actor_id = 'user', session_key = 'dm:local' } = options;
    return this.publish({
      source_name: 'text_input',
      ingress: 'adapter',
      session_key,
      actor: { actor_type: 'user', actor_id },
      ...cutText({ text, extra: { message_id: `text_input:${this.#typed}` } }),
    });
  }

  async fanOut(text: string): Promise<number> {
    let count = 0;
    for (const session of [...this.live.all()]) {
      if (session.key === systemSession || this.#bus.shut(false)) continue;
      const read = this.preview({
        obs_type: 'system',
        source_name: fanOutSource,
        source_kind: 'internal',
        session_key: session.key,
        payload: { text },
      });
      // It may have been forgotten while others were served; a tick does not call it back.
      if (!read.ok || this.live.get(session.key) !== session) continue;
      if (!this.#inboxes.fits(read.observation, session)) continue;
      this.#open.begin();
      this.#inboxes.enter(this.#ticket(read.observation), session);
      count += 1;
      if (count % fanOutBatch === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return count;
  }

  stats(): BusStats {
    const { size: sessions, load } = this.live;
    return { ...this.#bus.stats(), inbox_dropped: this.#inboxDropped, sessions, ...load };
  }

  /**
   * Takes nothing new from outside; resolves when all that was accepted has been handled, and what came of it, or after
   * `ms`: the rest is then named and ended.
   */
  async close(ms: number): Promise<void> {
    this.#bus.drain();
    if (!(await this.#open.whenNone(ms))) {
      // What an agent has said waits behind turns that end now, and still goes out.
      this.#endRest(({ silent }) => !silent);
      if (!(await this.#open.whenNone(ms))) this.#endRest(({ state }) => state === 'queued');
    }
    this.#bus.close();
  }

  #endRest(which: (ticket: Ticket) => boolean): void {
    const left = [...this.#unsettled()].filter(which);
    if (left.length === 0) return;
    const named = (begun: boolean): readonly Observation[] =>
      left.filter(({ state }) => (state === 'running') === begun).map(({ observation }) => observation);
    this.#ports.unhandled({ queued: named(false), begun: named(true) });
    const reason = new MortiseError('server_shutdown', 'The server is shutting down.', { status: 503 });
    for (const ticket of left) ticket.cancel(reason);
  }

  /** Whether the caller runs inside of a turn. */
  get #inside(): boolean {
    return this.#waits.current !== undefined;
  }

  #publish(input: ObservationInput, options: PublishOptions, inside: boolean): PublishResult {
    const read = this.#read(input, options.adapter, inside);
    return read.ok ? this.#published(read, options, inside) : read;
  }

  #read(input: ObservationInput, adapter: string | undefined, inside: boolean): PublishResult {
    this.#bus.attempt();
    if (this.#bus.shut(inside)) return { ok: false, dropped: true, reason: this.#refused('closed') };
    if (this.#ports.cooldowns.refuses(input, adapter)) {
      return { ok: false, dropped: true, reason: this.#refused('adapter_cooldown') };
    }
    const read = readObservation(input, this.#ports.now(), this.#route);
    return read.ok ? read : { ok: false, dropped: true, reason: this.#refused('invalid'), errors: read.errors };
  }

  readonly #route = (facts: RouteFacts): string | ObservationError => routeObservation(facts, this.#ports.routing);

  #published(read: Extract<PublishResult, { ok: true }>, options: PublishOptions, inside: boolean): PublishResult {
    const { observation } = read;
    const reason = this.#offer(this.#ticket(observation, options), inside);
    if (reason === undefined) return read;
    const { source_name } = observation;
    // An adapter of the platform tells of it itself.
    if (reason === 'queue_full' && options.adapter === undefined) {
      this.#ports.raise('input_bus_backpressure', undefined, { source_name });
    }
    return { ok: false, dropped: true, reason: reason === 'inbox_full' ? 'queue_full' : reason };
  }

  #ticket(observation: Observation, { decided }: PublishOptions = {}): Ticket {
    return new Ticket(observation, this.#settled, undefined, false, decided);
  }

  #refused(reason: PublishRefusal): PublishRefusal {
    this.#bus.refuse(reason);
    this.#ports.metrics.busDropped(reason);
    return reason;
  }

  /** Puts a ticket on the bus; the reason when it was refused. */
  #offer(ticket: Ticket, inside: boolean): PublishRefusal | 'inbox_full' | undefined {
    if (this.#bus.shut(inside)) return this.#refused('closed');
    if (!this.#hasRoom(ticket.observation)) return this.#refused('queue_full');
    // Here and not on arrival: what is accepted is handled.
    const session = this.live.open(ticket.observation.session_key ?? '');
    if (!this.#inboxes.fits(ticket.observation, session)) return 'inbox_full';
    session.coming += 1;
    this.#open.begin();
    this.#bus.accept(ticket);
    return undefined;
  }

  #hasRoom(observation: Observation): boolean {
    return this.#bus.hasRoom(isSystem(observation));
  }

  async #room(
    observation: Observation,
    inside: boolean,
    ms: number,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const deadline = this.#ports.monotonic() + ms;
    while (!this.#hasRoom(observation)) {
      const left = deadline - this.#ports.monotonic();
      if (left <= 0 || this.#bus.shut(inside) || signal?.aborted) return false;
      await this.#bus.room(left, signal);
    }
    return true;
  }

  /** Every accepted ticket comes by here once. */
  readonly #settled = (ticket: Ticket): void => {
    this.#inboxes.leave(ticket);
    this.#open.end();
  };

  *#unsettled(): Iterable<Ticket> {
    yield* this.#bus.waiting();
    for (const session of [...this.live.all()]) yield* session.open;
  }
}

function isSystem(observation: Observation): boolean {
  return observation.obs_type !== 'message' && observation.obs_type !== 'world_data';
}

/** Class, code and place of an error, never its text: it may quote what a person wrote. A coded one is no place to look at. */
function describe(error: unknown): { readonly error: string; readonly stack?: readonly string[] } {
  const { name, code, stack } = (error ?? {}) as { name?: unknown; code?: unknown; stack?: unknown };
  const frames =
    typeof stack === 'string' && !(error instanceof MortiseError)
      ? stack.split('\n').filter((line) => /^\s+at /.test(line))
      : [];
  return {
    error: typeof code === 'string' ? code : typeof name === 'string' ? name : 'error',
    ...(frames.length > 0 ? { stack: frames.map((line) => line.trim()) } : {}),
  };
}
