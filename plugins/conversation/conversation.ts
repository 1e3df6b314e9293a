import type {
  AdapterCooldown,
  BusStats,
  ConversationService,
  EgressStatus,
  Observation,
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
import { MortiseError } from 'mortise/sdk';
import type { Cooldowns } from './cooldowns.js';
import { cutText } from './cut-text.js';
import type { EgressHub } from './egress/egress-hub.js';
import { holdHandler } from './held-handler.js';
import { InputBus } from './input-bus.js';
import type { LiveSession } from './live-session.js';
import { LiveSessions } from './live-sessions.js';
import { isAgentGenerated } from './loop-guard.js';
import { readObservation, withSessionKey } from './read-observation.js';
import { fanOutSource, type Routing, routeObservation, systemSession } from './route-observation.js';
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
  /** Keys of the active handlers of a type, in order. */
  readonly handlers: (type: ObservationType) => readonly string[];
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
  readonly schedule: (run: () => void) => void;
  readonly raise: (code: AlertCode, session: LiveSession | undefined, detail: Record<string, unknown>) => void;
  readonly count: WorkerPorts['count'];
}

export type AlertCode = 'worker_error' | 'inbox_overflow' | 'input_bus_backpressure' | 'egress_queue_full';

/** The one path in: bus, router and a worker per session. */
export class Conversation implements ConversationService {
  readonly live: LiveSessions;
  readonly #ports: ConversationPorts;
  readonly #bus: InputBus;
  readonly #waits = new WaitGraph();
  readonly #worker: WorkerPorts;
  readonly #cooldowns: Cooldowns;
  readonly #open = new Set<Ticket>();
  #idleWaiters: (() => void)[] = [];
  #inboxDropped = 0;
  #typed = 0;

  constructor(ports: ConversationPorts) {
    this.#ports = ports;
    this.live = new LiveSessions(ports.now);
    this.#cooldowns = ports.cooldowns;
    this.#bus = new InputBus({
      capacity: ports.limits.busCapacity,
      reserve: 64,
      consume: (ticket) => this.#deliver(ticket),
      schedule: ports.schedule,
    });
    this.#worker = {
      gate: ports.gate,
      slots: new TurnSlots(ports.limits.concurrentTurns),
      waits: this.#waits,
      publish: (observation) => this.publish(observation),
      egress: (observation) => ports.hub.enqueue(observation),
      silent: (observation) => this.#silent(observation),
      now: ports.now,
      monotonic: ports.monotonic,
      fault: (session, observation, step, error) => {
        session.recordFault(observation, `${step}: ${error instanceof Error ? error.name : 'error'}`);
        ports.raise('worker_error', session, { step, obs_id: observation.obs_id, ...describe(error) });
      },
      count: ports.count,
    };
  }

  publish(input: ObservationInput, options: PublishOptions = {}): PublishResult {
    const read = this.#read(input, options.adapter);
    if (!read.ok) return read;
    const reason = this.#offer(new Ticket(read.observation, undefined, false, options.decided));
    return reason === undefined ? read : { ok: false, dropped: true, reason };
  }

  async publishOrWait(
    input: ObservationInput,
    options: PublishOptions & { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
  ): Promise<PublishResult> {
    const read = this.#read(input, options.adapter);
    if (!read.ok) return read;
    const ticket = new Ticket(read.observation, undefined, false, options.decided);
    if (!(await this.#room(ticket, options.timeoutMs ?? roomMs, options.signal))) {
      return { ok: false, dropped: true, reason: this.#refused(this.#bus.closed ? 'closed' : 'queue_full') };
    }
    const reason = this.#offer(ticket);
    return reason === undefined ? read : { ok: false, dropped: true, reason };
  }

  async submit(input: ObservationInput, options: SubmitOptions): Promise<Settled> {
    const read = this.#read(input, options.adapter);
    if (!read.ok) {
      if (read.reason === 'closed') return { outcome: 'closed' };
      if (read.reason === 'adapter_cooldown') return { outcome: 'cooldown' };
      return { outcome: 'invalid', errors: read.errors ?? [] };
    }
    const { observation } = read;
    if (this.#ports.handlers(observation.obs_type).length === 0) return { outcome: 'closed', observation };
    const target = observation.session_key ?? '';
    const from = this.#waits.current;
    if (from !== undefined && this.#waits.wouldDeadlock(from, target)) return { outcome: 'busy', observation };
    const refusal = this.#refuseQueue(target, options);
    if (refusal) return { outcome: refusal, observation };
    const ticket = new Ticket(observation, options, from !== undefined);
    const done = from === undefined ? undefined : this.#waits.wait(from, target);
    try {
      if (!(await this.#room(ticket, roomMs, options.signal))) ticket.settle({ outcome: 'backpressure' });
      const reason = ticket.state === 'settled' ? undefined : this.#offer(ticket);
      if (reason !== undefined) ticket.settle({ outcome: reason === 'closed' ? 'closed' : 'backpressure' });
      return await ticket.settled;
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
    const read = readObservation(input, this.#ports.now());
    if (!read.ok) return { ok: false, dropped: true, reason: 'invalid', errors: read.errors };
    return { ok: true, observation: this.#routed(read.observation) };
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
      if (session.key === systemSession || this.#bus.closed) continue;
      const read = this.preview({
        obs_type: 'system',
        source_name: fanOutSource,
        source_kind: 'internal',
        session_key: session.key,
        payload: { text },
      });
      // It may have been forgotten while others were served; a tick does not call it back.
      if (!read.ok || this.live.get(session.key) !== session) continue;
      this.#deliver(new Ticket(read.observation));
      count += 1;
      if (count % fanOutBatch === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return count;
  }

  coolDown(cooldown: AdapterCooldown): void {
    this.#cooldowns.start(cooldown);
  }

  endCooldown(adapter: string): boolean {
    return this.#cooldowns.end(adapter);
  }

  cooldowns(): readonly AdapterCooldown[] {
    return this.#cooldowns.list();
  }

  bindSession(sessionKey: string, adapter: string): void {
    this.#ports.hub.bind(sessionKey, adapter);
  }

  unbindSession(sessionKey: string, adapter: string): void {
    this.#ports.hub.unbind(sessionKey, adapter);
  }

  egress(): readonly EgressStatus[] {
    return this.#ports.hub.status();
  }

  stats(): BusStats {
    let running = 0;
    for (const session of this.live.all()) if (session.working) running += 1;
    return { ...this.#bus.stats(), inbox_dropped: this.#inboxDropped, sessions: this.live.size, running };
  }

  /** Takes nothing new; resolves when all that was accepted has been handled, or after `ms`: the rest is then ended. */
  async close(ms: number): Promise<void> {
    this.#bus.close();
    if (await this.#whenIdle(ms)) return;
    const reason = new MortiseError('server_shutdown', 'The server is shutting down.', { status: 503 });
    for (const ticket of [...this.#open]) ticket.cancel(reason);
    await this.#whenIdle(ms);
  }

  #read(input: ObservationInput, adapter?: string): PublishResult {
    this.#bus.attempt();
    if (this.#bus.closed) return { ok: false, dropped: true, reason: this.#refused('closed') };
    if (this.#cooldowns.refuses(input, adapter)) {
      return { ok: false, dropped: true, reason: this.#refused('adapter_cooldown') };
    }
    const read = readObservation(input, this.#ports.now());
    if (!read.ok) return { ok: false, dropped: true, reason: this.#refused('invalid'), errors: read.errors };
    return { ok: true, observation: this.#routed(read.observation) };
  }

  #routed(observation: Observation): Observation {
    return withSessionKey(observation, routeObservation(observation, this.#ports.routing));
  }

  #refused(reason: PublishRefusal): PublishRefusal {
    this.#bus.refuse(reason);
    return reason;
  }

  /** Puts a ticket on the bus; the reason when it was refused. */
  #offer(ticket: Ticket): PublishRefusal | undefined {
    if (this.#bus.closed) return this.#refused('closed');
    if (!this.#bus.hasRoom(isSystem(ticket.observation))) {
      this.#ports.raise('input_bus_backpressure', undefined, { source_name: ticket.observation.source_name });
      return this.#refused('queue_full');
    }
    this.#open.add(ticket);
    ticket.onSettled(() => {
      this.#open.delete(ticket);
      if (this.#open.size === 0) for (const wake of this.#idleWaiters.splice(0)) wake();
    });
    this.#bus.accept(ticket);
    return undefined;
  }

  async #room(ticket: Ticket, ms: number, signal: AbortSignal | undefined): Promise<boolean> {
    const deadline = this.#ports.monotonic() + ms;
    while (!this.#bus.hasRoom(isSystem(ticket.observation))) {
      const left = deadline - this.#ports.monotonic();
      if (left <= 0 || this.#bus.closed || signal?.aborted) return false;
      await this.#bus.room(left, signal);
    }
    return true;
  }

  /** Limits of a caller's own wait, before its observation is accepted. */
  #refuseQueue(target: string, { wait }: SubmitOptions): 'busy' | 'queue_full' | undefined {
    const turns = this.live.get(target)?.turns ?? 0;
    if (turns === 0) return undefined;
    if (wait.timeoutMs <= 0) return 'busy';
    return turns - 1 >= wait.limit ? 'queue_full' : undefined;
  }

  /** From the bus into the inbox of its session, whose worker starts when it is idle. */
  #deliver(ticket: Ticket): void {
    if (ticket.state === 'settled') return;
    const session = this.live.open(ticket.observation.session_key ?? '');
    // Asked again: several may have been accepted in one go.
    const refusal = ticket.submit && this.#refuseQueue(session.key, ticket.submit);
    if (refusal) {
      ticket.settle({ outcome: refusal });
      return;
    }
    if (session.depth >= this.#ports.limits.inboxCapacity) {
      this.#inboxDropped += 1;
      this.#ports.raise('inbox_overflow', session, { obs_id: ticket.observation.obs_id });
      ticket.settle({ outcome: 'queue_full' });
      return;
    }
    const turn = ticket.observation.obs_type === 'message' && !this.#silent(ticket.observation);
    session.push({ ticket, turn, handlers: this.#hold(ticket) });
    ticket.onSettled(() => session.remove(ticket));
    void work(session, this.#worker);
  }

  #hold(ticket: Ticket) {
    const { observation, submit, controller } = ticket;
    if (this.#silent(observation)) return [];
    const options = {
      principal: submit?.principal,
      requestId: submit?.requestId,
      correlationId: observation.correlation_id,
      trace: submit?.trace,
      signal: controller.signal,
    };
    return this.#ports.handlers(observation.obs_type).map((key) => holdHandler(this.#ports.points, key, options));
  }

  /** What an agent said starts no turn, unless it is allowed to and speaks to another session. */
  #silent(observation: Observation): boolean {
    if (observation.obs_type !== 'message' || !isAgentGenerated(observation)) return false;
    const from = observation.metadata.origin_session_key;
    if (from === undefined || from === observation.session_key) return true;
    return !this.#ports.loopAllowed().includes(observation.source_name);
  }

  #whenIdle(ms: number): Promise<boolean> {
    if (this.#open.size === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ms);
      this.#idleWaiters.push(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }
}

function isSystem(observation: Observation): boolean {
  return observation.obs_type !== 'message' && observation.obs_type !== 'world_data';
}

/** Class, code and place of an error, never its text: it may quote what a person wrote. */
function describe(error: unknown): { readonly error: string; readonly stack?: readonly string[] } {
  const { name, code, stack } = (error ?? {}) as { name?: unknown; code?: unknown; stack?: unknown };
  const frames = typeof stack === 'string' ? stack.split('\n').filter((line) => /^\s+at /.test(line)) : [];
  return {
    error: typeof code === 'string' ? code : typeof name === 'string' ? name : 'error',
    ...(frames.length > 0 ? { stack: frames.map((line) => line.trim()) } : {}),
  };
}
