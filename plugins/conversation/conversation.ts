import type { BusStats, PublishRefusal } from 'mortise/contracts/conversation';
import type { GateService } from 'mortise/contracts/gate';
import type { ObservationInput, Points } from 'mortise/sdk';
import { type AlertCode, describeFault } from './alerts.js';
import type { Cooldowns } from './cooldowns.js';
import { TurnSlots } from './delivery.js';
import { drainAccepted, type Unhandled } from './drain.js';
import type { EgressHub } from './egress/egress-hub.js';
import type { HandlersOf } from './handler-table.js';
import { Inboxes } from './inboxes.js';
import type { Schedule } from './input-bus.js';
import { Intake } from './intake.js';
import type { LiveSession } from './live-session.js';
import { LiveSessions } from './live-sessions.js';
import { fanOutSource, type Routing, systemSession } from './observation/route-observation.js';
import { WaitGraph } from './wait-graph.js';
import { Worker, type WorkerDeps } from './worker.js';

/** Sessions that a broadcast serves before timers and I/O get their turn. */
const fanOutBatch = 500;

export interface ConversationDeps {
  readonly points: Points;
  readonly handlers: HandlersOf;
  readonly gate: () => GateService | undefined;
  /** `loop_guard.allow`: sources of agents that may start a turn in another session. */
  readonly loopAllowed: () => readonly string[];
  readonly hub: Pick<EgressHub, 'enqueue'>;
  readonly cooldowns: Cooldowns;
  readonly routing: Routing;
  readonly limits: {
    readonly busCapacity: number;
    readonly inboxCapacity: number;
    readonly concurrentTurns: number;
  };
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly schedule: Schedule;
  readonly raise: (code: AlertCode, session: LiveSession | undefined, detail: Record<string, unknown>) => void;
  /** Receives what was accepted and not handled before the time limit of a stop. */
  readonly unhandled: (left: Unhandled) => void;
  readonly metrics: Pick<WorkerDeps, 'count' | 'flagged'> & {
    readonly busDropped: (reason: PublishRefusal) => void;
    readonly inboxDropped: () => void;
    readonly failed: (step: Parameters<WorkerDeps['fault']>[2]) => void;
  };
  readonly changed?: WorkerDeps['changed'];
}

/** The path of an observation: {@link Intake} (bus and router), the inbox of its session, the session's worker. */
export class Conversation {
  readonly live: LiveSessions;
  readonly intake: Intake;
  readonly #deps: ConversationDeps;
  #inboxDropped = 0;

  constructor(deps: ConversationDeps) {
    const { points, handlers, loopAllowed, limits, metrics, raise } = deps;
    this.#deps = deps;
    this.live = new LiveSessions(deps.now);
    const waits = new WaitGraph();
    const worker = new Worker({
      gate: deps.gate,
      slots: new TurnSlots(limits.concurrentTurns),
      waits,
      publish: (observation, principal) => this.intake.publish(observation, { principal }, true),
      egress: (observation) => deps.hub.enqueue(observation),
      now: deps.now,
      monotonic: deps.monotonic,
      fault: this.#fault,
      count: metrics.count,
      flagged: metrics.flagged,
      changed: deps.changed,
    });
    const inboxes = new Inboxes({
      points,
      live: this.live,
      capacity: limits.inboxCapacity,
      handlers,
      loopAllowed,
      overflowed: (session, { obs_id }) => {
        this.#inboxDropped += 1;
        metrics.inboxDropped();
        raise('inbox_overflow', session, { obs_id });
      },
      wake: (session) => worker.work(session),
    });
    this.intake = new Intake({
      ...deps,
      busCapacity: limits.busCapacity,
      refused: metrics.busDropped,
      live: this.live,
      inboxes,
      waits,
    });
  }

  /** Broadcasts a text to every live session except `system`, past the bus. @returns how many inboxes took it */
  async fanOut(text: string): Promise<number> {
    let count = 0;
    for (const session of [...this.live.all()]) {
      if (session.key === systemSession || this.intake.bus.shut(false)) continue;
      const observation: ObservationInput = {
        obs_type: 'system',
        source_name: fanOutSource,
        source_kind: 'internal',
        session_key: session.key,
        payload: { text },
      };
      if (!this.intake.enter(observation, session)) continue;
      count += 1;
      if (count % fanOutBatch === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return count;
  }

  stats(): BusStats {
    const { size: sessions, load } = this.live;
    return { ...this.intake.bus.stats(), inbox_dropped: this.#inboxDropped, sessions, ...load };
  }

  /** Refuses new observations from outside and handles what was accepted; see {@link drainAccepted} for the limits. */
  async close(workMs: number, repliesMs = workMs): Promise<void> {
    const { bus, open } = this.intake;
    bus.drain();
    const unsettled = () => this.intake.unsettled();
    await drainAccepted({ open, unsettled, unhandled: this.#deps.unhandled, workMs, repliesMs });
    bus.close();
  }

  readonly #fault: WorkerDeps['fault'] = (session, observation, step, error) => {
    const { metrics, changed, raise } = this.#deps;
    const fault = describeFault(error);
    session.recordFault(`${step}: ${fault.error}`);
    metrics.failed(step);
    changed?.(session);
    const { obs_id, trace_id } = observation;
    raise('worker_error', session, { step, obs_id, trace_id, ...fault });
  };
}
