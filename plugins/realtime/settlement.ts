import type { Settled } from 'mortise/contracts/conversation';
import type { MortiseError } from 'mortise/sdk';
import { wireError } from './errors.js';

/** What the gate decided, for the one who asked. */
export function gateFacts({ decision, observation }: Settled): Readonly<Record<string, unknown>> {
  return {
    action: decision?.action,
    reason: decision?.reason,
    reasons: decision?.reasons,
    scene: decision?.scene,
    obs_id: observation?.obs_id,
    trace_id: observation?.trace_id,
  };
}

/** Why a message came to no turn. */
export function settledFailure(settled: Settled, draining: boolean): MortiseError {
  switch (settled.outcome) {
    case 'refused':
      return wireError(
        'GATE_DROPPED',
        `The message was refused by the gate: ${settled.decision?.reason}`,
        gateFacts(settled),
      );
    case 'busy':
      return wireError('SESSION_BUSY');
    case 'queue_full':
    case 'queue_timeout':
    case 'backpressure':
      return wireError('BACKPRESSURE');
    case 'cooldown':
      return wireError('ADAPTER_COOLDOWN');
    case 'cancelled':
      return wireError('SERVER_SHUTTING_DOWN');
    case 'closed':
      return wireError(draining ? 'SERVER_SHUTTING_DOWN' : 'PLUGIN_UNAVAILABLE');
    case 'invalid':
      return wireError('INVALID_PARAMS', 'Invalid params: the message was not accepted', {
        errors: settled.errors ?? [],
      });
    default:
      return wireError('INTERNAL_ERROR');
  }
}
