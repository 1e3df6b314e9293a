import type { TurnAnswer, TurnResult } from 'mortise/contracts/agent';
import type { Settled } from 'mortise/contracts/conversation';
import type { GateDecision } from 'mortise/contracts/gate';
import { agentError, failureOf } from './errors.js';

/** What became of a submitted request. */
export function answerOf(settled: Settled, queueLimit: number): TurnAnswer {
  const { outcome, decision } = settled;
  switch (outcome) {
    case 'handled':
      return settled.value === undefined
        ? failed(agentError('internal_error'))
        : { kind: 'turn', result: settled.value as TurnResult };
    case 'refused':
      return decision?.action === 'sink' ? sunk(settled, decision) : failed(dropped(settled, decision));
    case 'busy':
    case 'queue_full':
      return failed(agentError('session_busy', { retryAfterSeconds: 1, details: { queue_limit: queueLimit } }));
    case 'queue_timeout':
      return failed(agentError('turn_queue_timeout', { retryAfterSeconds: 1 }));
    case 'cooldown':
      return failed(agentError('adapter_cooldown', { retryAfterSeconds: 1 }));
    case 'backpressure':
      return failed(agentError('backpressure', { retryAfterSeconds: 1 }));
    case 'cancelled':
      return failed(agentError('client_closed'));
    case 'closed':
      return failed(agentError('shutting_down', { retryAfterSeconds: 1 }));
    case 'invalid':
      return failed(agentError('invalid_request', { details: { errors: settled.errors ?? [] } }));
    case 'error':
      return failed(agentError('internal_error'));
  }
}

/** Statuses of refusals by their deciding reason; whatever else refuses is 403. */
function dropped(settled: Settled, decision: GateDecision | undefined) {
  const reason = decision?.reason ?? 'unknown';
  const message = `The message was refused by the gate: ${reason}`;
  const details = shown(settled);
  if (reason === 'loop_hops') return agentError('gate_dropped', { status: 422, message, details });
  if (reason === 'system_overload') {
    return agentError('gate_dropped', { status: 503, retryAfterSeconds: 1, message, details });
  }
  if (reason === 'gate_error' || reason.startsWith('stage_failed:')) {
    return agentError('gate_dropped', { status: 503, retryAfterSeconds: 5, message, details });
  }
  return agentError('gate_dropped', { message, details });
}

/** Put aside: neither an error nor an answer. */
function sunk(settled: Settled, { reason }: GateDecision): TurnAnswer {
  const message = `The message was put aside by the gate: ${reason}`;
  return { kind: 'sunk', error: { code: 'gate_sunk', status: 202, message, details: shown(settled) } };
}

function shown({ decision, observation }: Settled): Readonly<Record<string, unknown>> {
  return {
    action: decision?.action,
    reason: decision?.reason,
    reasons: decision?.reasons,
    scene: decision?.scene,
    obs_id: observation?.obs_id,
    trace_id: observation?.trace_id,
  };
}

function failed(error: ReturnType<typeof agentError>): TurnAnswer {
  const failure = failureOf(error);
  return { kind: 'failed', error: failure ?? { code: error.code, message: error.message, status: error.status } };
}
