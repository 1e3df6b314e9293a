import type { GateControl } from 'mortise/contracts/gate';
import {
  collectAnswer,
  type ExchangeRecorder,
  estimateInput,
  fetchAttachments,
  forwardable,
  type ModelAnswer,
  type ModelsService,
  nameIgnored,
  nameModel,
  newUserTexts,
  openAnswer,
  openRaw,
  passOn,
  type ResolvedModel,
  refuseStopped,
  sessionToRecord,
  spliceModel,
  statelessError,
  textOf,
} from 'mortise/contracts/models';
import type { SessionRef } from 'mortise/contracts/sessions';
import type { GuardedFetch, ModelMessage, Points, Route, RouteContext, RouteRequest, RouteResponse } from 'mortise/sdk';
import { readPassedAnswer } from './passed-answer.js';
import { readMessages } from './read-messages.js';
import { type ClaudeRequest, forwardedHeaders, ownAdapter, readClaudeRequest } from './request.js';
import { translateRequest } from './translate-request.js';
import { type AnswerFacts, ping, writeMessage, writeStream } from './write-answer.js';

export interface MessagesDeps {
  readonly points: Points;
  readonly models: ModelsService;
  readonly gate: { readonly current: GateControl | undefined };
  readonly recorder: ExchangeRecorder;
  readonly fetch: GuardedFetch;
  /** The adapters that pass exchanges through. */
  readonly passable: { readonly current: ReadonlySet<string> };
}

/** `POST /v1/messages`. */
export function messagesRoute(deps: MessagesDeps): Route {
  return {
    async handle(request, ctx) {
      const asked = readClaudeRequest(request.body);
      refuseStopped(deps.gate.current, asked.user, ctx.principal);
      const session = sessionToRecord(asked.metadata, asked.metadata.session_id, ctx.principal);
      const model = await findModel(deps.models, asked.model);
      nameModel(ctx, model);
      if (isOwn(deps, model)) return passThrough(deps, request, asked, model, session, ctx);
      return translate(deps, asked, model, session, ctx);
    },
  };
}

/** Whether the model's provider speaks this API itself. */
export function isOwn({ passable }: Pick<MessagesDeps, 'passable'>, { adapter }: ResolvedModel): boolean {
  return adapter === ownAdapter && passable.current.has(adapter);
}

/** @throws model_not_found */
export async function findModel(models: ModelsService, name: string): Promise<ResolvedModel> {
  const found = await models.route(name, 'anthropic');
  if (!found) throw statelessError('model_not_found', { message: `model: ${name}` });
  return found;
}

/** The bytes of the request, but for the model's name where the provider knows it by another one. */
export function rawExchange(
  { rawBody, headers, path, rawQuery }: RouteRequest,
  asked: ClaudeRequest,
  model: ResolvedModel,
) {
  return {
    method: 'POST',
    path: rawQuery === '' ? path : `${path}?${rawQuery}`,
    headers: forwardable(headers, forwardedHeaders),
    body: asked.model === model.model ? rawBody : spliceModel(rawBody, model.model),
  } as const;
}

async function passThrough(
  { points, recorder }: MessagesDeps,
  request: RouteRequest,
  asked: ClaudeRequest,
  model: ResolvedModel,
  session: SessionRef | undefined,
  ctx: RouteContext,
): Promise<RouteResponse> {
  const answer = await openRaw(points, model, rawExchange(request, asked, model), ctx);
  if (!session || answer.status !== 200) return passOn(answer);
  return passOn(answer, (passed) => {
    const read = readPassedAnswer(passed);
    if (!read?.complete) return;
    const { reply, usage } = read;
    recorder.record({ session, input: newUserTexts(readMessages(asked.body, true)), reply, model, usage }, ctx);
  });
}

async function translate(
  { points, recorder, fetch }: MessagesDeps,
  asked: ClaudeRequest,
  model: ResolvedModel,
  session: SessionRef | undefined,
  ctx: RouteContext,
): Promise<RouteResponse> {
  const { request, ignored } = translateRequest(asked.body, model);
  nameIgnored(ctx, ignored);
  const messages = await fetchAttachments(request.messages, fetch, ctx.signal);
  const facts = { model: asked.model, estimatedInput: estimateInput(messages, asked.body) };
  const events = await openAnswer(points, model, { ...request, messages }, ctx);
  const record = (answer: ModelAnswer) => recordAnswer(recorder, { session, messages, model, answer }, ctx);
  if (asked.streams) return { sse: true, keepAlive: ping, stream: stream(events, facts, record, ctx) };
  const answer = await collectAnswer(events);
  record(answer);
  return { body: writeMessage(answer, facts) };
}

/** An answer that has begun ends with an error event where it fails. */
async function* stream(
  events: Parameters<typeof writeStream>[0],
  facts: AnswerFacts,
  record: (answer: ModelAnswer) => void,
  ctx: RouteContext,
): AsyncGenerator<string> {
  try {
    yield* writeStream(events, facts, record);
  } catch (error) {
    yield `event: error\ndata: ${JSON.stringify(ctx.errorBody(error))}\n\n`;
  }
}

interface Answered {
  readonly session: SessionRef | undefined;
  readonly messages: readonly ModelMessage[];
  readonly model: ResolvedModel;
  readonly answer: ModelAnswer;
}

/** An answer that calls tools is not recorded: the exchange goes on with their results. */
function recordAnswer(
  recorder: ExchangeRecorder,
  { session, messages, model, answer }: Answered,
  ctx: RouteContext,
): void {
  if (!session || answer.stopReason === 'tool_use') return;
  const { usage, blocks } = answer;
  recorder.record({ session, input: newUserTexts(messages), reply: textOf(blocks), model, usage }, ctx);
}
