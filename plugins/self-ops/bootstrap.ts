import {
  cutDeltas,
  errorOf,
  eventFrame,
  restoreDeltas,
  streamEnd,
  type TurnAnswer,
  type TurnEvent,
  TurnPipe,
  type TurnService,
  turnFrames,
} from 'mortise/contracts/agent';
import {
  chatSpec,
  type Idempotency,
  idempotencyKeyPattern,
  idempotencyOf,
  type NewMessage,
  type SessionRef,
  type SessionsService,
} from 'mortise/contracts/sessions';
import { type CallContext, isJsonObject, newId, type RouteContext } from 'mortise/sdk';
import type { SelfOpsAudit } from './audit.js';
import { invalidRequest } from './errors.js';
import { checkUser, readFlag, readObject, readRawText, readSession, readText } from './read-body.js';

export interface BootstrapDeps {
  readonly turns: Pick<TurnService, 'admit' | 'submit' | 'isCommand'>;
  readonly sessions: Pick<SessionsService, 'currentChat' | 'getChat' | 'deleteChats'>;
  readonly audit: SelfOpsAudit;
}

interface BootstrapRequest {
  readonly session: SessionRef;
  readonly input: readonly NewMessage[];
  readonly promptMode: unknown;
  readonly stream: boolean;
  readonly idempotency: Idempotency | undefined;
}

/** A bootstrap whose turn runs. */
interface RunningBootstrap {
  readonly stream: boolean;
  readonly pipe: TurnPipe;
  readonly answer: Promise<TurnAnswer>;
  readonly session: SessionRef;
  /** Adds the chat and the model to the last event. */
  show(event: TurnEvent): Promise<TurnEvent>;
}

/** @throws invalid_json, invalid_request, invalid_channel */
export function readBootstrap(given: unknown, idempotencyKey: string | undefined): BootstrapRequest {
  const body = readObject(given);
  const text = readRawText(body, 'first_input');
  if (readText(body, 'user_id') === '' || text.trim() === '') {
    throw invalidRequest('user_id and first_input are required');
  }
  if (idempotencyKey !== undefined && !idempotencyKeyPattern.test(idempotencyKey)) {
    throw invalidRequest('Idempotency-Key must have 1 to 128 visible ASCII characters');
  }
  return {
    session: readSession(
      body,
      readRawText(body, 'session_seed').trim() === '' ? newId('session') : readRawText(body, 'session_seed'),
    ),
    input: [{ role: 'user', content: text }],
    promptMode: body.prompt_mode ?? undefined,
    stream: readFlag(body, 'stream'),
    idempotency: idempotencyKey === undefined ? undefined : idempotencyOf(idempotencyKey, body),
  };
}

/**
 * Starts a session with one turn. A chat that this call created is removed again when the turn fails; the turn stays.
 * @throws actor_mismatch, and the codes of a request for a turn
 */
export async function startBootstrap(
  { turns, sessions, audit }: BootstrapDeps,
  { session, input, promptMode, stream, idempotency }: BootstrapRequest,
  ctx: CallContext,
  setHeader: RouteContext['setHeader'] = () => undefined,
): Promise<RunningBootstrap> {
  checkUser(ctx.principal, session);
  if (turns.isCommand(input)) throw invalidRequest('first_input is a command, which starts no turn');
  const business = promptMode === undefined ? {} : { prompt_mode: promptMode };
  const before = await sessions.currentChat(session);
  const admitted = await turns.admit({ session, input, business }, ctx);
  let chatId: string | undefined;
  const pipe = new TurnPipe((turnId, id) => {
    chatId = id;
    setHeader('X-Turn-Id', turnId);
  });
  const submitted = turns.submit(
    admitted,
    {
      source: 'api:agent-process',
      ingress: 'api',
      idempotency,
      port: pipe.port,
      decided: ({ action }) => setHeader('X-Gate-Action', action),
    },
    ctx,
  );
  const answer = submitted.then(async (settled) => {
    if (chatId !== undefined && before === undefined && failureOf(settled)) {
      await sessions.deleteChats([chatId], { keepTurns: true });
    }
    if (settled.kind === 'turn' && settled.result.kind === 'replayed') {
      setHeader('X-Idempotent-Replay', 'true');
      setHeader('X-Turn-Id', settled.result.turnId);
    } else await recordOutcome(audit, { settled, chatId, session }, ctx);
    pipe.close();
    return settled;
  });
  // The stream may end before anybody waits for the answer.
  answer.catch(() => pipe.close());
  const show = async (event: TurnEvent): Promise<TurnEvent> => {
    if (event.type !== 'completed') return event;
    const chat = chatId === undefined ? undefined : await sessions.getChat(chatId);
    const facts = { ...(chat ? { chat: chatSpec(chat) } : {}), applied_model: appliedModel(event) };
    return { ...event, meta: { ...event.meta, ...facts } };
  };
  return { stream, pipe, answer, session, show };
}

export interface BootstrapAnswer {
  readonly chat: ReturnType<typeof chatSpec> | null;
  readonly reply: string;
  readonly events: readonly TurnEvent[];
  /** Null in a turn without a model. */
  readonly applied_model: { readonly provider_id: unknown; readonly model: unknown } | null;
  /** Why the gate put the message aside; no turn was made then. */
  readonly gate?: Readonly<Record<string, unknown>>;
}

/** The whole answer of a bootstrap. @throws the error of its turn */
export async function collectBootstrap(
  { sessions }: BootstrapDeps,
  running: RunningBootstrap,
): Promise<BootstrapAnswer> {
  const events: TurnEvent[] = [];
  for (let event = await running.pipe.next(); event; event = await running.pipe.next()) events.push(event);
  const answer = await running.answer;
  if (answer.kind === 'failed') throw errorOf(answer.error);
  if (answer.kind === 'sunk') {
    const gate = answer.error.details ?? {};
    const completed: TurnEvent = { type: 'completed', step: 0, reply: '', meta: { gate } };
    return { chat: null, reply: '', events: running.stream ? [completed] : [], applied_model: null, gate };
  }
  const { result } = answer;
  if (result.kind === 'failed') throw errorOf(result.error);
  if (result.kind === 'completed' && result.dispatchError) throw errorOf(result.dispatchError);
  const shown = result.kind === 'replayed' ? restoreDeltas(result.events, result.reply) : events;
  const chat = await sessions.currentChat(running.session);
  return {
    chat: chat ? chatSpec(chat) : null,
    reply: result.reply,
    events: cutDeltas(shown),
    applied_model: appliedModel(shown.findLast(({ type }) => type === 'completed')),
  };
}

/** The frames of a bootstrap, once its turn has begun. @throws the error of a turn that could not begin */
export async function streamBootstrap(deps: BootstrapDeps, running: RunningBootstrap): Promise<AsyncIterable<string>> {
  const { pipe, answer, show } = running;
  const first = await pipe.next();
  if (first) return turnFrames(pipe, first, answer, show);
  return framesOf(await collectBootstrap(deps, running));
}

async function* framesOf({ events, ...facts }: BootstrapAnswer): AsyncGenerator<string> {
  for (const event of events) {
    yield eventFrame(event.type === 'completed' ? { ...event, meta: { ...event.meta, ...metaOf(facts) } } : event);
  }
  yield streamEnd;
}

function metaOf({ chat, applied_model, gate }: Omit<BootstrapAnswer, 'events'>) {
  return gate ? { gate } : { chat, applied_model };
}

/** Why there is no reply. A message that the gate put aside has none either. */
function failureOf(answer: TurnAnswer) {
  if (answer.kind !== 'turn') return answer.error;
  return answer.result.kind === 'failed' ? answer.result.error : undefined;
}

/** The model that answered; null in a turn without one. */
function appliedModel(event: TurnEvent | undefined) {
  const model = event?.type === 'completed' ? event.meta.model : undefined;
  return isJsonObject(model) ? { provider_id: model.provider_id, model: model.model } : null;
}

async function recordOutcome(
  audit: SelfOpsAudit,
  outcome: {
    readonly settled: TurnAnswer;
    readonly chatId: string | undefined;
    readonly session: SessionRef;
  },
  ctx: CallContext,
): Promise<void> {
  const { settled, chatId, session } = outcome;
  const turnId = settled.kind === 'turn' ? settled.result.turnId : undefined;
  const evidence = { channel: session.channel, chat_id: chatId ?? null, turn_id: turnId ?? null };
  const failure = failureOf(settled);
  const target = chatId === undefined ? null : `chat:${chatId}`;
  if (failure) await audit.refused('bootstrap', failure.code, target, evidence, ctx);
  else await audit.done('bootstrap', target, evidence, ctx);
}
