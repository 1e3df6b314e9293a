import type { GateControl } from 'mortise/contracts/gate';
import type { SessionRef } from 'mortise/contracts/sessions';
import {
  boundUser,
  callOptions,
  type GenerateEvent,
  type GenerateRequest,
  isJsonObject,
  type JsonObject,
  type ModelMessage,
  type Points,
  type Principal,
  type RawExchange,
  type Route,
  type RouteContext,
  type RouteRequest,
  type RouteResponse,
} from 'mortise/sdk';
import { estimateTokens } from '../estimate-tokens.js';
import type { ModelSlot, ResolvedModel } from '../models.js';
import { type AnswerUsage, collectAnswer, type ModelAnswer, openAnswer, textOf } from './answer.js';
import type { AnswerBlock } from './answer-blocks.js';
import { fetchAttachments } from './attachments.js';
import { statelessError } from './errors.js';
import { checkJson, type JsonCheck, jsonCheck, withInstruction } from './json-output.js';
import type { AnswerFacts, ApiRequest, ModelApi, ModelApiDeps } from './model-api.js';
import { forwardable, openRaw, passOn } from './pass-through.js';
import { newUserTexts, sessionToRecord } from './record-exchange.js';
import { spliceModel } from './splice-model.js';

/** The route of a model API: passed through to a provider that speaks it, translated for every other one. */
export function modelApiRoute(deps: ModelApiDeps, api: ModelApi): Route {
  return {
    async handle(request, ctx) {
      const apiRequest = api.read(request);
      const session = sessionToRecord(apiRequest.metadata, apiRequest.sessionId, ctx.principal);
      const model = await admitRequest(deps, api, apiRequest, ctx);
      const call: Call = { deps, api, apiRequest, model, session };
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
  apiRequest: ApiRequest,
  ctx: RouteContext,
): Promise<ResolvedModel> {
  refuseStopped(gate.current, apiRequest.user, ctx.principal);
  const model = await models.route(apiRequest.model, api.naming);
  if (!model) throw api.modelNotFound(apiRequest.model);
  setModelHeader(ctx, model);
  return model;
}

export function passesThrough(
  { passable }: Pick<ModelApiDeps, 'passable'>,
  api: ModelApi,
  model: ResolvedModel,
): boolean {
  return api.isSpokenBy(model) && passable.current.has(model.adapter);
}

/** The bytes of the request, with the model's name replaced if the provider uses another one. */
export function rawExchange(
  api: ModelApi,
  { rawBody, headers, path, rawQuery }: RouteRequest,
  apiRequest: ApiRequest,
  { model }: ResolvedModel,
): Omit<RawExchange, 'settings'> {
  const ownPath = api.providerPath(path);
  return {
    method: 'POST',
    path: rawQuery === '' ? ownPath : `${ownPath}?${rawQuery}`,
    headers: forwardable(headers, api.forwardedHeaders),
    body: apiRequest.model === model ? rawBody : spliceModel(rawBody, model),
    startsAtOnce: apiRequest.streams,
  };
}

interface Call {
  readonly deps: ModelApiDeps;
  readonly api: ModelApi;
  readonly apiRequest: ApiRequest;
  readonly model: ResolvedModel;
  readonly session: SessionRef | undefined;
}

async function passThrough(
  { deps: { points, recorder }, api, apiRequest, model, session }: Call,
  request: RouteRequest,
  ctx: RouteContext,
): Promise<RouteResponse> {
  const answer = await openRaw(points, model, rawExchange(api, request, apiRequest, model), ctx);
  if (!session || answer.status !== 200) return passOn(answer);
  return passOn(answer, (passed) => {
    const read = api.readPassed(passed);
    if (read) recorder.record({ session, input: newUserTexts(api.readMessages(apiRequest.body)), model, ...read }, ctx);
  });
}

async function translate(call: Call, ctx: RouteContext): Promise<RouteResponse> {
  const { deps, api, apiRequest, model } = call;
  const { request, ignored } = api.translate(apiRequest.body, model);
  setIgnoredHeader(ctx, [...ignored, ...(await ignoredFields(deps.points, api, apiRequest, model, request, ctx))]);
  const check = model.capabilities.jsonSchema === true ? undefined : jsonCheck(request.responseFormat, deps.schemas);
  const messages = await fetchAttachments(request.messages, deps.fetch, ctx.signal);
  const facts: AnswerFacts = {
    apiRequest,
    estimatedInput: estimateInput(messages, apiRequest.body),
    created: Math.floor(Date.now() / 1_000),
    errorBody: (error) => ctx.errorBody(error),
  };
  const events = await ask(deps.points, model, { ...request, messages }, check, ctx);
  const record = (answer: ModelAnswer) => recordAnswer(call, messages, answer, ctx);
  if (apiRequest.streams) {
    const { keepAlive } = api;
    const stream = api.stream(events, facts, record);
    return { sse: true, stream, ...(keepAlive === undefined ? {} : { keepAlive }) };
  }
  const answer = await collectAnswer(events);
  record(answer);
  return { body: api.write(answer, facts) };
}

/** The fields of a request that the adapter ignores. */
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

/** Without a JSON mode of the provider, the model is instructed, and its answer is checked before any of it is sent. */
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

/** An answer that calls tools is not recorded: the exchange continues with their results. */
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

/** Seconds after which a request that was stopped may be sent again. */
const retryAfterSeconds = 5;

/**
 * Refuses a request that the gate stops: of a dropped user, in emergency mode or under overload.
 *
 * @param user the user that the request names
 * @throws drop_actor (403), emergency_mode or system_overload (529)
 */
export function refuseStopped(gate: GateControl | undefined, user: string | undefined, principal: Principal): void {
  if (!gate) return;
  const bound = boundUser(principal);
  const stopped = gate.stopped(user) ?? (bound === undefined ? undefined : gate.stopped(bound));
  if (stopped === undefined) return;
  throw statelessError(stopped, stopped === 'drop_actor' ? {} : { retryAfterSeconds });
}

/** An estimate of a request's input tokens: its texts, and the JSON text of each tool as the client sent it. */
export function estimateInput(messages: readonly ModelMessage[], { tools }: JsonObject): number {
  let tokens = 0;
  for (const { content } of messages) {
    if (typeof content === 'string') tokens += estimateTokens(content);
    else for (const { text } of content) if (text !== undefined) tokens += estimateTokens(text);
  }
  for (const tool of Array.isArray(tools) ? tools : []) tokens += estimateTokens(JSON.stringify(tool));
  return tokens;
}

/** The provider's count, else estimates. */
export function countedUsage(
  usage: AnswerUsage,
  estimatedInput: number,
  blocks: readonly AnswerBlock[],
): Required<NonNullable<AnswerUsage>> {
  if (usage) return { cachedInputTokens: 0, reasoningTokens: 0, ...usage };
  const texts = blocks.map((block) => (block.kind === 'call' ? block.call.arguments : block.text));
  return {
    inputTokens: estimatedInput,
    outputTokens: texts.reduce((sum, text) => sum + estimateTokens(text), 0),
    cachedInputTokens: 0,
    reasoningTokens: 0,
  };
}

/** Sets the header that names the answering model. */
export function setModelHeader(ctx: RouteContext, { providerId, model }: ModelSlot): void {
  ctx.setHeader('X-Mortise-Model', headerText(`${providerId}/${model}`));
}

const maxNames = 32;

/** Sets the header that lists the fields of the request that have no effect. */
export function setIgnoredHeader(ctx: RouteContext, names: readonly string[]): void {
  // Names come from the client: those with a comma, or with characters that are not allowed in a header, are left out.
  const shown = names.filter((name) => /^[\x21-\x2b\x2d-\x7e]{1,64}$/.test(name)).slice(0, maxNames);
  if (shown.length > 0) ctx.setHeader('X-Mortise-Ignored', shown.join(', '));
}

function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?');
}
