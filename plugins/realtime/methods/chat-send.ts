import type { TurnPortEvent, TurnResult, TurnService } from 'mortise/contracts/agent';
import { type Idempotency, idempotencyOf, type NewMessage, type SessionRef } from 'mortise/contracts/sessions';
import type { JsonObject } from 'mortise/sdk';
import { invalidParams, wireError } from '../errors.js';
import { doneFrame, errorFrame, toolCallFrame, toolResultFrame, usageFrame } from '../frames.js';
import { isCancelled, type LiveSend } from '../live-sends.js';
import type { Method, MethodCall, RealtimeDeps } from '../method.js';
import { readAttachments, readIdempotencyKey, readObject, readSession, readText } from '../params.js';
import { submitFailure, wordFailure } from '../word-failure.js';

const contentLimit = 200_000;
const optionalEvents = ['tool_result', 'usage'];

interface SendRequest {
  readonly session: SessionRef;
  readonly sessionKey: string;
  readonly input: readonly NewMessage[];
  readonly business: JsonObject;
  readonly events: readonly string[];
  readonly idempotency: Idempotency | undefined;
}

/** `chat.send`: runs a turn for a message and sends its events as they happen. */
export const chatSend: Method = async (params, call, deps) => {
  const turns = deps.turns();
  if (!turns) throw wireError('PLUGIN_UNAVAILABLE', 'No agent is running');
  const request = readSend(params, call, deps);
  if (turns.isCommand(request.input)) {
    call.socket.delta(call.id, await turns.runCommand(request.session));
    call.socket.send(call.id, doneFrame(call.id));
    return undefined;
  }
  if (request.idempotency && (await replayed(request, request.idempotency, call, deps))) return undefined;
  const holder = deps.live.get(request.sessionKey);
  if (holder) throw refusal(holder, request.idempotency);
  if (deps.conversation.busy(request.sessionKey)) throw wireError('SESSION_BUSY');
  const { sessionKey, idempotency } = request;
  const send = deps.live.begin({ sessionKey, requestId: call.id, controller: call.controller, idempotency });
  call.socket.begin(send);
  let last: readonly object[];
  try {
    last = await runTurn(turns, request, call, deps);
  } catch (error) {
    const cancelled = isCancelled(call.controller.signal);
    last = cancelled ? [cancelledFrame(call.id)] : [failureFrame(call, error, request.session)];
  }
  // Freed before the last frame is sent: a client that reacts to it at once must not get SESSION_BUSY.
  deps.live.free(send);
  for (const frame of last) call.socket.send(call.id, frame);
  call.socket.end(send);
  send.finish(last.some(isCancelledFrame) ? 'cancelled' : 'ended');
  return undefined;
};

function readSend(params: JsonObject, call: MethodCall, deps: RealtimeDeps): SendRequest {
  const content = readText(params, 'content', contentLimit);
  const session = readSession(params, call.ctx.principal);
  const business = readObject(params, 'biz_params');
  const attachments = readAttachments(params);
  const events = params.events ?? [];
  if (!Array.isArray(events) || !events.every((event) => optionalEvents.includes(event))) {
    throw invalidParams('events', `must be a list of: ${optionalEvents.join(', ')}`);
  }
  const key =
    readIdempotencyKey(params.idempotency_key, 'idempotency_key') ??
    readIdempotencyKey(business.request_id, 'biz_params.request_id');
  const parts = attachments.length === 0 ? {} : { parts: [{ type: 'text', text: content }, ...attachments] };
  return {
    session,
    sessionKey: deps.sessions.key(session),
    input: [{ role: 'user', content, ...parts }],
    business,
    events,
    idempotency: key === undefined ? undefined : idempotencyOf(key, { content, attachments, business }),
  };
}

/** Answers with the stored reply of the same key. False when there is none. */
async function replayed(
  { session }: SendRequest,
  idempotency: Idempotency,
  { id, socket }: MethodCall,
  { sessions }: RealtimeDeps,
): Promise<boolean> {
  const stored = await sessions.findReplay(session, idempotency);
  if (!stored) return false;
  if (stored.reply) socket.delta(id, stored.reply);
  socket.send(id, doneFrame(id, { replayed: true }));
  return true;
}

/** The error of a second request for one session. */
function refusal(holder: LiveSend, idempotency: Idempotency | undefined) {
  const running = holder.facts.idempotency;
  if (!idempotency || running?.key !== idempotency.key) return wireError('SESSION_BUSY');
  return wireError(running.bodySha256 === idempotency.bodySha256 ? 'TURN_IN_PROGRESS' : 'IDEMPOTENCY_CONFLICT');
}

/** Runs the turn. @returns the frames that end the request. */
async function runTurn(
  turns: TurnService,
  request: SendRequest,
  call: MethodCall,
  { http }: RealtimeDeps,
): Promise<readonly object[]> {
  const { session, input, business, idempotency } = request;
  const { id, ctx } = call;
  const answer = await turns.submit(
    await turns.admit({ session, input, business }, ctx),
    {
      source: 'ws:chat',
      ingress: 'ws',
      wait: { limit: 0, timeoutMs: 0 },
      idempotency,
      replayChecked: true,
      port: { send: (event) => show(event as TurnPortEvent, request, call) },
    },
    ctx,
  );
  if (answer.kind === 'turn') return lastFrames(answer.result, request, call);
  if (answer.kind === 'sunk') return [doneFrame(id, { gate: answer.error.details })];
  // Cancelled before its turn began.
  if (answer.error.code === 'client_closed' && isCancelled(ctx.signal)) return [cancelledFrame(id)];
  return [failureFrame(call, submitFailure(answer.error, http.draining), session)];
}

/** Sends an event of the running turn. */
function show(event: TurnPortEvent, { events }: SendRequest, { id, socket }: MethodCall): void {
  if (event.type === 'assistant_delta') socket.delta(id, event.delta);
  else if (event.type === 'opened') socket.own(event.turnId);
  else if (event.type === 'tool_call') {
    socket.send(id, toolCallFrame(id, { ...event.call, name: event.tool_call.name }));
  } else if (event.type === 'tool_result' && events.includes('tool_result')) {
    const { ok, summary } = event.tool_result;
    socket.send(id, toolResultFrame(id, event.call.id, ok, summary));
  }
}

function lastFrames(result: TurnResult, { events, session }: SendRequest, call: MethodCall): readonly object[] {
  const { id, socket } = call;
  if (result.kind === 'replayed') {
    if (result.reply !== '') socket.delta(id, result.reply);
    return [doneFrame(id, { replayed: true })];
  }
  const usage = events.includes('usage') && result.usage ? [usageFrame(id, result.usage)] : [];
  if (result.kind === 'completed') {
    // The turn is complete and stored, but its channel did not accept the reply.
    if (result.dispatchError) return [failureFrame(call, result.dispatchError, session)];
    return [...usage, doneFrame(id)];
  }
  const { code } = result.error;
  // The text of the step limit was sent and stored like an answer.
  if (code === 'agent_step_limit') return [...usage, doneFrame(id)];
  if (code === 'turn_cancelled') return [...usage, cancelledFrame(id)];
  return [failureFrame(call, result.error, session)];
}

function failureFrame({ id, ctx }: MethodCall, error: unknown, { sessionId }: SessionRef): object {
  const failure = wordFailure(error, sessionId);
  if (failure.code === 'INTERNAL_ERROR') {
    const code = (error as { code?: unknown } | null)?.code;
    ctx.log.error({ code: typeof code === 'string' ? code : 'unexpected' }, 'a turn of a socket failed');
  }
  return errorFrame(id, failure, ctx.correlationId);
}

const cancelledReason = 'cancelled';

function cancelledFrame(id: string): object {
  return doneFrame(id, { finish_reason: cancelledReason });
}

function isCancelledFrame(frame: object): boolean {
  return (frame as { data?: { finish_reason?: string } }).data?.finish_reason === cancelledReason;
}
