import type {
  BusStats,
  PublishOptions,
  PublishResult,
  SessionSummary,
  Settled,
  SubmitOptions,
} from 'mortise/contracts/conversation';
import type { SessionState } from 'mortise/contracts/gate';
import { isCodedError, type ObservationInput } from 'mortise/sdk';
import type { ConversationPorts } from './conversation-ports.js';
import { describeFault } from './describe-fault.js';
import { endAccepted } from './end-accepted.js';
import { fanOut } from './fan-out.js';
import { Inboxes } from './inboxes.js';
import { TypedText } from './ingest/typed-text.js';
import { Intake } from './intake.js';
import { LiveSessions } from './live-sessions.js';
import { TurnSlots } from './turn-slots.js';
import { WaitGraph } from './wait-graph.js';
import { work } from './worker.js';
import type { WorkerPorts } from './worker-ports.js';

/** How long a caller that waits is kept when the bus is full, milliseconds. */
const roomMs = 1_000;

/** The one path in: bus, router and a worker per session. */
export class Conversation {
  readonly live: LiveSessions;
  readonly #ports: ConversationPorts;
  readonly #waits = new WaitGraph();
  readonly #inboxes: Inboxes;
  readonly #intake: Intake;
  readonly #typed = new TypedText();
  #inboxDropped = 0;

  constructor(ports: ConversationPorts) {
    this.#ports = ports;
    this.live = new LiveSessions(ports.now);
    const worker = this.#worker();
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
    this.#intake = new Intake({ ...ports, live: this.live, inboxes: this.#inboxes });
  }

  publish(input: ObservationInput, options: PublishOptions = {}): PublishResult {
    return this.#intake.publish(input, options, this.#inside);
  }

  async publishOrWait(
    input: ObservationInput,
    options: PublishOptions & { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
  ): Promise<PublishResult> {
    const intake = this.#intake;
    const inside = this.#inside;
    const read = intake.read(input, options.adapter, inside);
    if (!read.ok) return read;
    const { observation } = read;
    if (!intake.hasRoom(observation)) {
      await intake.room(observation, inside, options.timeoutMs ?? roomMs, options.signal);
    }
    return intake.publishRead(read, options, inside);
  }

  async submit(input: ObservationInput, options: SubmitOptions): Promise<Settled> {
    const intake = this.#intake;
    const from = this.#waits.current;
    const inside = from !== undefined;
    const read = intake.read(input, options.adapter, inside);
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
      if (!intake.hasRoom(observation) && !(await intake.room(observation, inside, roomMs, options.signal))) {
        return { outcome: options.signal?.aborted ? 'cancelled' : 'backpressure', observation };
      }
      const ticket = intake.ticket(observation, options, inside);
      const reason = intake.offer(ticket, inside);
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
    return this.#intake.preview(input);
  }

  ingestText(text: string, options: { actor_id?: string; session_key?: string } = {}): PublishResult | null {
    const observation = this.#typed.read(text, options);
    return observation ? this.publish(observation) : null;
  }

  fanOut(text: string): Promise<number> {
    return fanOut(text, {
      sessions: [...this.live.all()],
      shut: () => this.#intake.shut(false),
      enter: (observation, session) => this.#intake.enter(observation, session),
    });
  }

  stats(): BusStats {
    const { size: sessions, load } = this.live;
    return { ...this.#intake.stats(), inbox_dropped: this.#inboxDropped, sessions, ...load };
  }

  /** Takes nothing new from outside, handles what was accepted for at most `ms`, and then ends it. */
  async close(ms: number, lastWordsMs = ms): Promise<void> {
    this.#intake.drain();
    await endAccepted(ms, lastWordsMs, {
      open: this.#intake.open,
      unsettled: () => this.#intake.unsettled(),
      unhandled: this.#ports.unhandled,
    });
    this.#intake.close();
  }

  /** Whether the caller runs inside of a turn. */
  get #inside(): boolean {
    return this.#waits.current !== undefined;
  }

  #worker(): WorkerPorts {
    const { gate, limits, hub, now, monotonic, metrics, changed, raise } = this.#ports;
    return {
      gate,
      slots: new TurnSlots(limits.concurrentTurns),
      waits: this.#waits,
      publish: (observation) => this.#intake.publish(observation, {}, true),
      egress: (observation) => hub.enqueue(observation),
      now,
      monotonic,
      fault: (session, observation, step, error) => {
        session.recordFault(
          `${step}: ${isCodedError(error) ? error.code : error instanceof Error ? error.name : 'error'}`,
        );
        metrics.failed(step);
        changed?.(session);
        const { obs_id, trace_id } = observation;
        raise('worker_error', session, { step, obs_id, trace_id, ...describeFault(error) });
      },
      count: metrics.count,
      flagged: metrics.flagged,
      changed,
    };
  }
}
