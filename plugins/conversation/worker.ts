import {
  type CallContext,
  extendContext,
  type GateOutcome,
  type GateService,
  isCodedError,
  type Observation,
  type ObservationHandler,
  type ObservationInput,
  type PublishResult,
} from 'mortise/sdk';
import { gateFailed, gateOff } from './gate-off.js';
import type { Accepted, LiveSession } from './live-session.js';
import { derive } from './read-observation.js';
import type { TurnSlots } from './turn-slots.js';
import type { WaitGraph } from './wait-graph.js';

export interface WorkerPorts {
  readonly gate: () => GateService | undefined;
  readonly slots: TurnSlots;
  readonly waits: WaitGraph;
  readonly publish: (observation: ObservationInput) => PublishResult;
  /** Hands an observation to the ways out, if it goes out at all. Neither waits nor throws. */
  readonly egress: (observation: Observation) => void;
  /** Whether an observation starts no turn because an agent said it. */
  readonly silent: (observation: Observation) => boolean;
  readonly now: () => number;
  readonly monotonic: () => number;
  /** One step failed: counted, noted and alerted by the caller. */
  readonly fault: (session: LiveSession, observation: Observation, step: string, error: unknown) => void;
  readonly count: (what: 'handled' | 'refused' | 'error' | 'loop_guard') => void;
}

/** Errors that say the handler's plugin was going away, not that it failed. */
const goneCodes = ['contribution_unknown', 'plugin_stopping', 'call_aborted'];

/**
 * Handles the inbox of one session, one observation after the other, each to its end, and ends when it is empty. Every
 * step is guarded on its own: a message that fails costs that message, not the session.
 */
export async function work(session: LiveSession, ports: WorkerPorts): Promise<void> {
  if (session.working) return;
  session.working = true;
  try {
    for (let next = session.shift(); next; next = session.shift()) {
      try {
        await handleOne(session, next, ports);
      } catch (error) {
        ports.fault(session, next.ticket.observation, 'worker', error);
        next.ticket.settle({ outcome: 'error' });
      }
    }
  } finally {
    session.working = false;
  }
}

async function handleOne(session: LiveSession, accepted: Accepted, ports: WorkerPorts): Promise<void> {
  const { ticket, handlers } = accepted;
  const { observation } = ticket;
  session.record(observation, ports.now());
  guard(session, observation, 'egress', ports, () => ports.egress(observation));
  const outcome = decide(session, observation, ports);
  const { decision, emit, ingest } = outcome;
  session.recordDecision(observation, decision);
  guard(session, observation, 'decided', ports, () => ticket.decided?.(decision));
  guard(session, observation, 'emit', ports, () => {
    for (const emitted of emit) ports.publish(derive(observation, emitted));
  });
  if (ingest.length > 0) guard(session, observation, 'ingest', ports, () => ports.gate()?.ingest(ingest));
  if (decision.action !== 'deliver') {
    for (const handler of handlers) handler.release();
    ports.count('refused');
    ticket.settle({ outcome: 'refused', decision });
    return;
  }
  if (observation.obs_type === 'message' && ports.silent(observation)) {
    for (const handler of handlers) handler.release();
    ports.count('loop_guard');
    ticket.settle({ outcome: 'handled', decision });
    return;
  }
  const free = accepted.turn && !ticket.nested ? await ports.slots.take(ticket.controller.signal) : () => undefined;
  try {
    // Given up, or out of time, while it waited for a place.
    if (!free || ticket.state === 'settled') {
      for (const handler of handlers) handler.release();
      return;
    }
    ticket.begin();
    await runHandlers(session, accepted, outcome, ports);
  } finally {
    free?.();
  }
}

function decide(session: LiveSession, observation: Observation, ports: WorkerPorts): GateOutcome {
  const gate = ports.gate();
  if (!gate) return gateOff(observation, session.key);
  try {
    const now = ports.monotonic();
    return gate.handle(observation, { sessionKey: session.key, now, session: session.state(), overload: false });
  } catch (error) {
    ports.fault(session, observation, 'gate', error);
    return gateFailed(observation, session.key);
  }
}

async function runHandlers(
  session: LiveSession,
  { ticket, handlers }: Accepted,
  { decision, observation: flagged }: GateOutcome,
  ports: WorkerPorts,
): Promise<void> {
  const { submit } = ticket;
  const observation = flagged ?? ticket.observation;
  const additions = {
    sessionKey: session.key,
    decision,
    port: submit?.port,
    request: submit?.request,
    publish: (fields: ObservationInput) => ports.publish(derive(observation, fields)),
  };
  const use = (handler: ObservationHandler, ctx: CallContext): Promise<unknown> =>
    ports.waits.run(session.key, async () => handler.handle(observation, extendContext(ctx, additions)));
  let value: unknown;
  let failed = false;
  let gone = false;
  for (const handler of handlers) {
    try {
      value ??= await handler.run(use);
    } catch (error) {
      if (isCodedError(error) && goneCodes.includes(error.code)) gone = true;
      else {
        failed = true;
        ports.fault(session, observation, 'handler', error);
      }
    }
  }
  const outcome = failed ? 'error' : gone ? 'cancelled' : 'handled';
  if (outcome !== 'cancelled') ports.count(outcome);
  ticket.settle({ outcome, decision, value });
}

function guard(
  session: LiveSession,
  observation: Observation,
  step: string,
  ports: WorkerPorts,
  run: () => void,
): void {
  try {
    run();
  } catch (error) {
    ports.fault(session, observation, step, error);
  }
}
