import type { TurnEvent, TurnFailure, TurnRequest, TurnResult } from 'mortise/contracts/agent';
import type { NewMessage, TurnOutcome } from 'mortise/contracts/sessions';
import type { LoopEnd } from './agent-loop.js';
import { agentError, failureOf } from './errors.js';
import type { TurnMetrics } from './metrics.js';
import type { LiveTurn } from './turn-parts.js';
import { endOf } from './turn-signal.js';

type Failed = Extract<TurnResult, { kind: 'failed' }>;
type Completed = Extract<TurnEvent, { type: 'completed' }>;

/** Stores the answer and ends the turn. @returns its last event, which may be shown now that the answer is committed. */
export async function closeCompleted(
  live: LiveTurn,
  request: TurnRequest,
  end: LoopEnd,
  metrics: TurnMetrics,
): Promise<Completed> {
  const { turn, progress, model, log } = live;
  const { usage, step } = progress;
  const completed: Completed = {
    type: 'completed',
    step,
    reply: end.answer.content,
    meta: {
      turn_id: turn.turnId,
      ...(end.responseId === undefined ? {} : { provider_response_id: end.responseId }),
      ...(usage ? { usage: { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens } } : {}),
      ...(model ? { model: { provider_id: model.providerId, model: model.model } } : {}),
      ...(request.debug ? { model_request: modelRequest(live) } : {}),
    },
  };
  log.add(completed);
  await turn.close(outcomeOf(live, 'completed', [end.answer]));
  metrics.turn('completed', model?.providerId ?? 'none');
  return completed;
}

/** The safety text is stored like an answer, with the status that tells it apart. */
export async function closeAtLimit(
  live: LiveTurn,
  end: LoopEnd,
  maxSteps: number,
  metrics: TurnMetrics,
): Promise<Failed> {
  const message = `agent step limit reached (${maxSteps})`;
  const error = asFailure(agentError('agent_step_limit', { message, details: { max_steps: maxSteps } }));
  await live.turn.close(outcomeOf(live, 'step_limit', [end.answer], error));
  metrics.turn('step_limit', live.model?.providerId ?? 'none');
  return { kind: 'failed', turnId: live.turn.turnId, error, usage: live.progress.usage };
}

/**
 * What was shown is stored, with the status that says why it ends there; a fenced turn stores nothing. An error that
 * nobody expected is thrown again once the turn is closed.
 */
export async function closeFailed(
  live: LiveTurn,
  signal: AbortSignal,
  error: unknown,
  metrics: TurnMetrics,
): Promise<Failed> {
  const end = whyEnded(signal, error);
  const failure = failureOf(end.error);
  const shown = failure ?? asFailure(agentError('internal_error'));
  try {
    await live.turn.close(outcomeOf(live, end.status, partialRow(live, end.status), shown));
  } catch (closing) {
    // The store is gone as well, or the session: the turn is swept later. What the caller hears is why it failed.
    if (failureOf(closing) === undefined) throw closing;
  }
  metrics.turn(end.status, live.model?.providerId ?? 'none');
  if (failure === undefined) throw error;
  return { kind: 'failed', turnId: live.turn.turnId, error: failure, usage: live.progress.usage };
}

function whyEnded(
  signal: AbortSignal,
  error: unknown,
): { readonly status: TurnOutcome['status']; readonly error: unknown } {
  if (failureOf(error)?.code === 'session_fenced') return { status: 'fenced', error };
  return signal.aborted ? endOf(signal.reason) : { status: 'failed', error };
}

function partialRow({ progress }: LiveTurn, ended: TurnOutcome['status']): readonly NewMessage[] {
  if (progress.unsaved === '') return [];
  const status = ended === 'cancelled' || ended === 'interrupted' ? ended : 'error';
  return [{ role: 'assistant', content: progress.unsaved, status, meta: { step: progress.step } }];
}

function outcomeOf(
  { model, progress, log }: LiveTurn,
  status: TurnOutcome['status'],
  messages: readonly NewMessage[],
  error?: TurnFailure,
): TurnOutcome {
  return {
    status,
    messages,
    ...(model ? { providerId: model.providerId, model: model.model } : {}),
    steps: progress.step,
    usage: progress.usage,
    ...(error ? { error: { code: error.code, message: error.message } } : {}),
    events: log.events,
  };
}

function modelRequest({ model, promptMode, layers = [], progress }: LiveTurn): Readonly<Record<string, unknown>> {
  return {
    prompt_mode: promptMode,
    provider_id: model?.providerId,
    model: model?.model,
    system_layers: layers.map(({ name, role, source, content }) => ({ name, role, source, content })),
    input: progress.sent.slice(layers.length),
  };
}

function asFailure(error: ReturnType<typeof agentError>): TurnFailure {
  const { code, message, status, details } = error;
  return { code, message, status, ...(details ? { details } : {}) };
}
