import type { AdmittedTurn, SubmitTurnOptions, TurnAnswer, TurnResult, TurnService } from 'mortise/contracts/agent';
import type { Settled } from 'mortise/contracts/conversation';
import type { GateDecision } from 'mortise/contracts/gate';
import { type CallContext, callOptions, type ObservationInput } from 'mortise/sdk';
import { admitTurn } from './admit-turn.js';
import { agentError, failureOf } from './errors.js';
import { isNewCommand, newChatReply } from './input-messages.js';
import { replayOf } from './run-turn.js';
import { systemLayers } from './system-layers.js';
import type { TurnDeps } from './turn-deps.js';

const internalSources: readonly SubmitTurnOptions['ingress'][] = ['cron', 'internal'];

/** The service `turns`. */
export function turnService(deps: TurnDeps): TurnService {
  return {
    isCommand: isNewCommand,
    async runCommand(session) {
      await deps.sessions.startAnew(session);
      return newChatReply;
    },
    admit: (input, ctx) => admitTurn(deps, input, ctx),
    submit: (admitted, options, ctx) => submitTurn(deps, admitted, options, ctx),
    systemLayers: (query, ctx) => systemLayers(deps, query, ctx),
  };
}

async function submitTurn(
  deps: TurnDeps,
  { request, payload }: AdmittedTurn,
  options: SubmitTurnOptions,
  ctx: CallContext,
): Promise<TurnAnswer> {
  const { session } = request;
  const { source, ingress, idempotency, eventId, replayChecked, port, decided, wait = deps.wait } = options;
  try {
    const stored = idempotency && !replayChecked ? await deps.sessions.findReplay(session, idempotency) : undefined;
    if (stored) return { kind: 'turn', result: replayOf(stored) };
    const observation: ObservationInput = {
      source_name: source,
      source_kind: internalSources.includes(ingress) ? 'internal' : 'external',
      ingress,
      session_key: deps.sessions.key(session),
      actor: { actor_type: 'user', actor_id: session.userId },
      payload,
      ...(eventId === undefined ? {} : { evidence: { raw_event_id: eventId } }),
      trace_id: ctx.trace.traceId,
      correlation_id: ctx.correlationId,
    };
    const waitUntil = wait.timeoutMs === 0 ? 0 : deps.now() + wait.timeoutMs;
    const settled = await deps.conversation.submit(observation, {
      ...callOptions(ctx),
      port,
      wait,
      decided,
      request: { ...request, idempotency, waitUntil },
    });
    return answerOf(settled, wait.limit);
  } catch (error) {
    const failure = failureOf(error);
    if (failure) return { kind: 'failed', error: failure };
    ctx.log.error({ error: error instanceof Error ? error.name : typeof error }, 'a turn could not be submitted');
    return failed(agentError('internal_error'));
  }
}

/** Converts the conversation's outcome to that of the request. */
function answerOf(settled: Settled, queueLimit: number): TurnAnswer {
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
      return failed(
        agentError('invalid_request', {
          message: 'the message was not accepted',
          details: { errors: settled.errors ?? [] },
        }),
      );
    case 'error':
      return failed(agentError('internal_error'));
  }
}

/** The status of a refusal depends on its deciding reason; 403 unless listed here. */
function dropped(settled: Settled, decision: GateDecision | undefined) {
  const reason = decision?.reason ?? 'unknown';
  const message = `The message was refused by the gate: ${reason}`;
  const details = gateDetails(settled);
  if (reason === 'loop_hops') return agentError('gate_dropped', { status: 422, message, details });
  if (reason === 'system_overload') {
    return agentError('gate_dropped', { status: 503, retryAfterSeconds: 1, message, details });
  }
  if (reason === 'gate_error' || reason.startsWith('stage_failed:')) {
    return agentError('gate_dropped', { status: 503, retryAfterSeconds: 5, message, details });
  }
  return agentError('gate_dropped', { message, details });
}

function sunk(settled: Settled, { reason }: GateDecision): TurnAnswer {
  const message = `The message was put aside by the gate: ${reason}`;
  return { kind: 'sunk', error: { code: 'gate_sunk', status: 202, message, details: gateDetails(settled) } };
}

function gateDetails({ decision, observation }: Settled): Readonly<Record<string, unknown>> {
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
  const { code, message, status } = error;
  return { kind: 'failed', error: failureOf(error) ?? { code, message, status } };
}
