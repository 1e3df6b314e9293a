import type { SessionRef } from 'mortise/contracts/sessions';
import {
  callOptions,
  type GenerateEvent,
  type GenerateRequest,
  isJsonObject,
  type JsonObject,
  type ModelMessage,
  type Points,
  type RawExchange,
  type Route,
  type RouteContext,
  type RouteRequest,
  type RouteResponse,
} from 'mortise/sdk';
import type { ResolvedModel } from '../models.js';
import { refuseStopped } from './admit.js';
import { collectAnswer, type ModelAnswer, openAnswer, textOf } from './answer.js';
import { fetchAttachments } from './attachments.js';
import { estimateInput } from './estimate-usage.js';
import { checkJson, type JsonCheck, jsonCheck, withInstruction } from './json-output.js';
import type { AnswerFacts, ApiRequest, ModelApi, ModelApiDeps } from './model-api.js';
import { forwardable, openRaw, passOn } from './pass-through.js';
import { newUserTexts, sessionToRecord } from './record-exchange.js';
import { nameIgnored, nameModel } from './response-headers.js';
import { spliceModel } from './splice-model.js';

/** The route of a model API: passed through to a provider that speaks it, translated for every other one. */
export function modelApiRoute(deps: ModelApiDeps, api: ModelApi): Route {
  return {
    async handle(request, ctx) {
      const asked = api.read(request);
      const session = sessionToRecord(asked.metadata, asked.sessionId, ctx.principal);
      const model = await admitRequest(deps, api, asked, ctx);
      const call: Call = { deps, api, asked, model, session };
      return passesThrough(deps, api, model) ? passThrough(call, request, ctx) : translate(call, ctx);
    },
  };
}

/**
 * The model of a request that the gate lets through; the response names it.
 * @throws drop_actor, emergency_mode, system_overload, model_not_found
 */
export async function admitRequest(
  { gate, models }: Pick<ModelApiDeps, 'gate' | 'models'>,
  api: ModelApi,
  asked: ApiRequest,
  ctx: RouteContext,
): Promise<ResolvedModel> {
  refuseStopped(gate.current, asked.user, ctx.principal);
  const model = await models.route(asked.model, api.naming);
  if (!model) throw api.modelNotFound(asked.model);
  nameModel(ctx, model);
  return model;
}

export function passesThrough(
  { passable }: Pick<ModelApiDeps, 'passable'>,
  api: ModelApi,
  model: ResolvedModel,
): boolean {
  return api.isSpokenBy(model) && passable.current.has(model.adapter);
}

/** The bytes of the request, but for the model's name where the provider knows it by another one. */
export function rawExchange(
  api: ModelApi,
  { rawBody, headers, path, rawQuery }: RouteRequest,
  asked: ApiRequest,
  { model }: ResolvedModel,
): Omit<RawExchange, 'settings'> {
  const ownPath = api.providerPath(path);
  return {
    method: 'POST',
    path: rawQuery === '' ? ownPath : `${ownPath}?${rawQuery}`,
    headers: forwardable(headers, api.forwardedHeaders),
    body: asked.model === model ? rawBody : spliceModel(rawBody, model),
    startsAtOnce: asked.streams,
  };
}

interface Call {
  readonly deps: ModelApiDeps;
  readonly api: ModelApi;
  readonly asked: ApiRequest;
  readonly model: ResolvedModel;
  readonly session: SessionRef | undefined;
}

async function passThrough(
  { deps: { points, recorder }, api, asked, model, session }: Call,
  request: RouteRequest,
  ctx: RouteContext,
): Promise<RouteResponse> {
  const answer = await openRaw(points, model, rawExchange(api, request, asked, model), ctx);
  if (!session || answer.status !== 200) return passOn(answer);
  return passOn(answer, (passed) => {
    const read = api.readPassed(passed);
    if (read) recorder.record({ session, input: newUserTexts(api.readMessages(asked.body)), model, ...read }, ctx);
  });
}

async function translate(call: Call, ctx: RouteContext): Promise<RouteResponse> {
  const { deps, api, asked, model } = call;
  const { request, ignored } = api.translate(asked.body, model);
  nameIgnored(ctx, [...ignored, ...(await ignoredFields(deps.points, api, asked, model, request, ctx))]);
  const check = model.capabilities.jsonSchema === true ? undefined : jsonCheck(request.responseFormat, deps.schemas);
  const messages = await fetchAttachments(request.messages, deps.fetch, ctx.signal);
  const facts: AnswerFacts = {
    asked,
    estimatedInput: estimateInput(messages, asked.body),
    created: Math.floor(Date.now() / 1_000),
    errorBody: (error) => ctx.errorBody(error),
  };
  const events = await ask(deps.points, model, { ...request, messages }, check, ctx);
  const record = (answer: ModelAnswer) => recordAnswer(call, messages, answer, ctx);
  if (asked.streams) {
    const { keepAlive } = api;
    const stream = api.stream(events, facts, record);
    return { sse: true, stream, ...(keepAlive === undefined ? {} : { keepAlive }) };
  }
  const answer = await collectAnswer(events);
  record(answer);
  return { body: api.write(answer, facts) };
}

/** The fields of a request that the adapter has no use for. */
async function ignoredFields(
  points: Points,
  { fields }: ModelApi,
  { body }: ApiRequest,
  { adapter }: ResolvedModel,
  request: GenerateRequest,
  ctx: RouteContext,
): Promise<readonly string[]> {
  const isAsked = points
    .list('provider')
    .some(({ key, offers }) => key === adapter && offers.includes('ignoredOptions'));
  if (!isAsked) return [];
  const ignored = await points.call(
    'provider',
    adapter,
    async (provider) => provider.ignoredOptions?.(request) ?? [],
    callOptions(ctx),
  );
  return ignored.flatMap((option) => fields[option].find((path) => hasField(body, path.split('.'))) ?? []);
}

function hasField(body: JsonObject, [name = '', ...rest]: readonly string[]): boolean {
  const value = body[name];
  if (rest.length > 0) return isJsonObject(value) && hasField(value, rest);
  return value !== undefined && value !== null;
}

/** Where the provider has no mode for JSON, the model is instructed, and its answer is checked before any of it is sent. */
async function ask(
  points: Points,
  model: ResolvedModel,
  request: GenerateRequest,
  check: JsonCheck | undefined,
  ctx: RouteContext,
): Promise<AsyncIterable<GenerateEvent>> {
  if (!check) return openAnswer(points, model, request, ctx);
  const { responseFormat: _, ...plain } = request;
  const messages = withInstruction(plain.messages, check.instruction);
  return checkJson(await openAnswer(points, model, { ...plain, messages }, ctx), check);
}

/** An answer that calls tools is not recorded: the exchange goes on with their results. */
function recordAnswer(
  { deps: { recorder }, session, model }: Call,
  messages: readonly ModelMessage[],
  answer: ModelAnswer,
  ctx: RouteContext,
): void {
  if (!session || answer.stopReason === 'tool_use') return;
  const { usage, blocks } = answer;
  recorder.record({ session, input: newUserTexts(messages), reply: textOf(blocks), model, usage }, ctx);
}
