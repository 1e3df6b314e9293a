import type { TurnEvent, TurnFailure, TurnResult } from 'mortise/contracts/agent';
import type { ChatSummary, NewMessage, TurnOutcome } from 'mortise/contracts/sessions';
import { agentError, failureOf } from './errors.js';
import type { LiveTurn } from './live-turn.js';
import type { TurnMetrics } from './turn-deps.js';
import { endOf } from './turn-signal.js';

type Failed = Extract<TurnResult, { kind: 'failed' }>;
type Completed = Extract<TurnEvent, { type: 'completed' }>;

/** The outcome of a turn before it is closed. `step_limit`: the message says that the steps are used up. */
export interface TurnReply {
  readonly kind: 'answered' | 'step_limit';
  readonly message: NewMessage;
  readonly responseId: string | undefined;
  /** Of everything before the turn; stored together with the answer. */
  readonly summary?: ChatSummary | undefined;
}

/** Stores the answer and ends the turn. @returns its last event, which may be sent now that the answer is committed. */
export async function closeCompleted(
  live: LiveTurn,
  { message, responseId, summary }: TurnReply,
  debug: boolean,
  metrics: TurnMetrics,
): Promise<Completed> {
  const { turn, model, log, usage, step } = live;
  const completed: Completed = {
    type: 'completed',
    step,
    reply: message.content,
    meta: {
      turn_id: turn.turnId,
      ...(responseId === undefined ? {} : { provider_response_id: responseId }),
      ...(usage ? { usage: { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens } } : {}),
      ...(model ? { model: { provider_id: model.providerId, model: model.model } } : {}),
      ...(debug ? { model_request: modelRequest(live) } : {}),
    },
  };
  log.add(completed);
  await turn.close({ ...outcomeOf(live, 'completed', [message]), summary });
  metrics.turn('completed', model?.providerId ?? 'none');
  return completed;
}

/** Stores the text of the step limit like an answer, with a status of its own. */
export async function closeAtLimit(
  live: LiveTurn,
  { message: answer }: TurnReply,
  maxSteps: number,
  metrics: TurnMetrics,
): Promise<Failed> {
  const message = `agent step limit reached (${maxSteps})`;
  const error = asFailure(agentError('agent_step_limit', { message, details: { max_steps: maxSteps } }));
  await live.turn.close(outcomeOf(live, 'step_limit', [answer], error));
  metrics.turn('step_limit', live.model?.providerId ?? 'none');
  return { kind: 'failed', turnId: live.turn.turnId, error, usage: live.usage };
}

/**
 * Stores the text that was emitted, with the status of the failure; a fenced turn stores nothing. An unexpected error is
 * thrown again once the turn is closed.
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
    // The store or the session failed too: the turn is swept later, and the caller gets the first error.
    if (failureOf(closing) === undefined) throw closing;
  }
  metrics.turn(end.status, live.model?.providerId ?? 'none');
  if (failure === undefined) throw error;
  return { kind: 'failed', turnId: live.turn.turnId, error: failure, usage: live.usage };
}

function whyEnded(
  signal: AbortSignal,
  error: unknown,
): { readonly status: TurnOutcome['status']; readonly error: unknown } {
  if (failureOf(error)?.code === 'session_fenced') return { status: 'fenced', error };
  return signal.aborted ? endOf(signal.reason) : { status: 'failed', error };
}

function partialRow({ unsaved, step }: LiveTurn, ended: TurnOutcome['status']): readonly NewMessage[] {
  if (unsaved === '') return [];
  const status = ended === 'cancelled' || ended === 'interrupted' ? ended : 'error';
  return [{ role: 'assistant', content: unsaved, status, meta: { step } }];
}

function outcomeOf(
  { model, step, usage, log }: LiveTurn,
  status: TurnOutcome['status'],
  messages: readonly NewMessage[],
  error?: TurnFailure,
): TurnOutcome {
  return {
    status,
    messages,
    ...(model ? { providerId: model.providerId, model: model.model } : {}),
    steps: step,
    usage,
    ...(error ? { error: { code: error.code, message: error.message } } : {}),
    events: log.events,
  };
}

function modelRequest({ model, promptMode, layers, sent }: LiveTurn): Readonly<Record<string, unknown>> {
  return {
    prompt_mode: promptMode,
    provider_id: model?.providerId,
    model: model?.model,
    system_layers: layers.map(({ name, role, source, content }) => ({ name, role, source, content })),
    input: sent.slice(layers.length),
  };
}

function asFailure(error: ReturnType<typeof agentError>): TurnFailure {
  const { code, message, status, details } = error;
  return { code, message, status, ...(details ? { details } : {}) };
}
