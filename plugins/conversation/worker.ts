import { isSystemPlane } from 'mortise/contracts/conversation';
import type { GateOutcome, GateService } from 'mortise/contracts/gate';
import {
  isJsonObject,
  type Observation,
  type ObservationError,
  type ObservationInput,
  type Principal,
} from 'mortise/sdk';
import { Delivery, type DeliveryDeps } from './delivery.js';
import type { LiveSession } from './live-session.js';
import { derive } from './observation/read-observation.js';
import type { Ticket } from './ticket.js';

/** The steps of a worker, by which faults are counted. */
type WorkerStep = 'record' | 'egress' | 'gate' | 'decided' | 'emit' | 'ingest' | 'handler' | 'worker';

/** How observations end, by which they are counted. */
type WorkerCount = 'handled' | 'refused' | 'error' | 'loop_guard';

export interface WorkerDeps extends DeliveryDeps {
  readonly gate: () => GateService | undefined;
  /** Enqueues an observation for egress if it is outbound. Neither waits nor throws. */
  readonly egress: (observation: Observation) => void;
  readonly now: () => number;
  readonly monotonic: () => number;
  /** The state of a session has changed. */
  readonly changed: ((session: LiveSession) => void) | undefined;
  /** Counts the quality flags of an observation. */
  readonly flagged: (observation: Observation) => void;
  readonly count: (what: WorkerCount) => void;
  /** Counts, records and alerts that a step failed. */
  readonly fault: (session: LiveSession, observation: Observation, step: WorkerStep, error: unknown) => void;
}

/**
 * Handles the inbox of a session, one observation at a time and each to its end, until the inbox is empty. Stays in one
 * turn of the event loop while no handler has to wait.
 */
export class Worker {
  readonly #deps: WorkerDeps;

  constructor(deps: WorkerDeps) {
    this.#deps = deps;
  }

  work(session: LiveSession): void {
    if (session.working) return;
    session.working = true;
    this.#resume(session);
  }

  readonly #resume = (session: LiveSession): void => {
    for (let ticket = session.shift(); ticket; ticket = session.shift()) {
      try {
        const delivery = this.#passGate(session, ticket);
        this.#deps.changed?.(session);
        if (delivery && !delivery.start(this.#resume)) return;
      } catch (error) {
        this.#deps.fault(session, ticket.observation, 'worker', error);
        ticket.settle({ outcome: 'error' });
      }
    }
    session.working = false;
  };

  /** The steps before the handlers, each guarded on its own: a fault costs its step, not the observation. */
  #passGate(session: LiveSession, ticket: Ticket): Delivery | undefined {
    const deps = this.#deps;
    const { observation } = ticket;
    this.#guard(session, observation, 'record', () => session.record(observation, deps.now()));
    this.#guard(session, observation, 'egress', () => deps.egress(observation));
    const outcome = this.#decide(session, observation);
    const { decision, ingest } = outcome;
    session.recent.decided(decision);
    const flagged = outcome.observation ?? observation;
    if (flagged.quality_flags.length > 0) deps.flagged(flagged);
    if (ticket.decided) this.#guard(session, observation, 'decided', () => ticket.decided?.(decision));
    if (outcome.emit.length > 0) this.#publishEmits(session, ticket, outcome);
    if (ingest.length > 0) {
      const { principal } = ticket;
      const pooled = ingest.map((item) => ({ ...item, principal }));
      this.#guard(session, observation, 'ingest', () => deps.gate()?.ingest(pooled));
    }
    const delivered = decision.action === 'deliver';
    if (delivered && !ticket.silent) return new Delivery(session, ticket, outcome, deps);
    deps.count(delivered ? 'loop_guard' : 'refused');
    ticket.settle({ outcome: delivered ? 'handled' : 'refused', decision });
    return undefined;
  }

  #decide(session: LiveSession, observation: Observation): GateOutcome {
    const gate = this.#deps.gate();
    if (!gate) return outcomeWithoutGate(observation, session.key, 'deliver', 'gate_off');
    try {
      const now = this.#deps.monotonic();
      return gate.handle(observation, { sessionKey: session.key, now, session: session.view, overload: false });
    } catch (error) {
      this.#deps.fault(session, observation, 'gate', error);
      // A failing gate is closed for messages and open for the platform's own traffic.
      return outcomeWithoutGate(
        observation,
        session.key,
        isSystemPlane(observation) ? 'deliver' : 'drop',
        'gate_error',
      );
    }
  }

  /**
   * Publishes the observations that gate stages emitted, independently of each other. An invalid one is reported to the
   * gate, which attributes it to the plugin of its stage.
   */
  #publishEmits(session: LiveSession, { observation, principal }: Ticket, { emit, emitters }: GateOutcome): void {
    for (const [index, emitted] of emit.entries()) {
      const errors = this.#publishEmit(observation, emitted, principal);
      if (!errors) continue;
      const stage = emitters?.[index];
      try {
        const gate = stage === undefined ? undefined : this.#deps.gate();
        if (stage === undefined || !gate?.notPublished) throw new TypeError('the gate emitted an invalid observation');
        session.recordFault(`emit: ${stage}`);
        gate.notPublished(stage, errors);
      } catch (error) {
        this.#deps.fault(session, observation, 'emit', error);
      }
    }
  }

  /** @returns the errors of an invalid observation; undefined when it was valid, even if there was no room for it */
  #publishEmit(
    parent: Observation,
    emitted: ObservationInput,
    principal: Principal,
  ): readonly ObservationError[] | undefined {
    try {
      const result = this.#deps.publish(isJsonObject(emitted) ? derive(parent, emitted) : emitted, principal);
      return result.ok || result.reason !== 'invalid' ? undefined : (result.errors ?? []);
    } catch {
      // A member threw on access.
      return [{ path: '', code: 'payload_mismatch', message: 'the observation cannot be read' }];
    }
  }

  #guard(session: LiveSession, observation: Observation, step: WorkerStep, run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#deps.fault(session, observation, step, error);
    }
  }
}

function outcomeWithoutGate(
  observation: Observation,
  sessionKey: string,
  action: 'deliver' | 'drop',
  reason: string,
): GateOutcome {
  return Object.freeze({
    decision: Object.freeze({
      action,
      reason,
      reasons: Object.freeze([reason]),
      scene: 'unknown',
      session_key: sessionKey,
      trace_id: observation.trace_id,
    }),
    emit: [],
    ingest: [],
  });
}
