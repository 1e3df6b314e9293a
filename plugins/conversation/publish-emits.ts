import type { GateOutcome } from 'mortise/contracts/gate';
import type { Observation, ObservationError, ObservationInput } from 'mortise/sdk';
import { derive } from './derive.js';
import type { LiveSession } from './live-session.js';
import { isObject } from './problems.js';
import type { WorkerPorts } from './worker-ports.js';

/**
 * Publishes what stages of the gate emitted, each by itself: one that is no observation costs neither the others nor the
 * message, and is told to the gate, which knows whose stage it comes from.
 */
export function publishEmits(
  session: LiveSession,
  observation: Observation,
  { emit, emitters }: GateOutcome,
  ports: WorkerPorts,
): void {
  if (emit.length === 0) return;
  for (const [index, emitted] of emit.entries()) {
    const errors = publishOne(observation, emitted, ports);
    if (!errors) continue;
    const stage = emitters?.[index];
    try {
      const gate = stage === undefined ? undefined : ports.gate();
      if (stage === undefined || !gate?.notPublished) throw new TypeError('the gate emitted what is no observation');
      session.recordFault(`emit: ${stage}`);
      gate.notPublished(stage, errors);
    } catch (error) {
      ports.fault(session, observation, 'emit', error);
    }
  }
}

/** @returns why it is no observation; undefined when it is one, whether or not there was room for it */
function publishOne(
  parent: Observation,
  emitted: ObservationInput,
  { publish }: WorkerPorts,
): readonly ObservationError[] | undefined {
  try {
    const result = publish(isObject(emitted) ? derive(parent, emitted) : emitted);
    return result.ok || result.reason !== 'invalid' ? undefined : (result.errors ?? []);
  } catch {
    // Its members throw when they are read.
    return [{ path: '', code: 'payload_mismatch', message: 'an observation can be read' }];
  }
}
