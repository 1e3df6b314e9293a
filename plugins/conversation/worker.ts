import type { GateOutcome } from 'mortise/contracts/gate';
import type { Observation } from 'mortise/sdk';
import { Delivery } from './delivery.js';
import { gateFailed, gateOff } from './gate-off.js';
import type { LiveSession } from './live-session.js';
import { publishEmits } from './publish-emits.js';
import type { Ticket } from './ticket.js';
import type { WorkerPorts, WorkerStep } from './worker-ports.js';

/**
 * Handles the inbox of one session, one observation after the other, each to its end, and ends when it is empty. It stays
 * in one turn of the event loop for as long as nothing has to be waited for.
 */
export function work(session: LiveSession, ports: WorkerPorts): void {
  if (session.working) return;
  session.working = true;
  goOn(session, ports);
}

function goOn(session: LiveSession, ports: WorkerPorts): void {
  for (let ticket = session.shift(); ticket; ticket = session.shift()) {
    try {
      const delivery = passGate(session, ticket, ports);
      ports.changed?.(session);
      if (delivery && !delivery.start(goOn)) return;
    } catch (error) {
      ports.fault(session, ticket.observation, 'worker', error);
      ticket.settle({ outcome: 'error' });
    }
  }
  session.working = false;
}

/** All that comes before the handlers. Every step is guarded on its own: what fails costs that step, not the message. */
function passGate(session: LiveSession, ticket: Ticket, ports: WorkerPorts): Delivery | undefined {
  const { observation } = ticket;
  guard(session, observation, 'record', ports, () => session.record(observation, ports.now()));
  guard(session, observation, 'egress', ports, () => ports.egress(observation));
  const outcome = decide(session, observation, ports);
  const { decision, ingest } = outcome;
  session.recent.decided(decision);
  const flagged = outcome.observation ?? observation;
  if (flagged.quality_flags.length > 0) ports.flagged(flagged);
  if (ticket.decided) guard(session, observation, 'decided', ports, () => ticket.decided?.(decision));
  publishEmits(session, observation, outcome, ports);
  if (ingest.length > 0) guard(session, observation, 'ingest', ports, () => ports.gate()?.ingest(ingest));
  const delivered = decision.action === 'deliver';
  if (delivered && !ticket.silent) return new Delivery(session, ticket, outcome, ports);
  ports.count(delivered ? 'loop_guard' : 'refused');
  ticket.settle({ outcome: delivered ? 'handled' : 'refused', decision });
  return undefined;
}

function decide(session: LiveSession, observation: Observation, ports: WorkerPorts): GateOutcome {
  const gate = ports.gate();
  if (!gate) return gateOff(observation, session.key);
  try {
    const now = ports.monotonic();
    return gate.handle(observation, { sessionKey: session.key, now, session: session.view, overload: false });
  } catch (error) {
    ports.fault(session, observation, 'gate', error);
    return gateFailed(observation, session.key);
  }
}

function guard(
  session: LiveSession,
  observation: Observation,
  step: WorkerStep,
  ports: WorkerPorts,
  run: () => void,
): void {
  try {
    run();
  } catch (error) {
    ports.fault(session, observation, step, error);
  }
}
