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
  type PassedAnswer,
  passOn,
  type ResolvedModel,
  refuseStopped,
  sessionToRecord,
  spliceModel,
  statelessError,
  textOf,
} from 'mortise/contracts/models';
import type { SessionRef } from 'mortise/contracts/sessions';
import type {
  GenerateEvent,
  GenerateRequest,
  GuardedFetch,
  JsonObject,
  ModelMessage,
  Points,
  Route,
  RouteContext,
  RouteRequest,
  RouteResponse,
  SchemasService,
} from 'mortise/sdk';
import { checkJson, type JsonCheck, jsonCheck, withInstruction } from './json-output.js';
import { type OpenAiRequest, readOpenAiRequest } from './request.js';

export interface ModelApiDeps {
  readonly points: Points;
  readonly models: ModelsService;
  readonly gate: { readonly current: GateControl | undefined };
  readonly recorder: ExchangeRecorder;
  readonly fetch: GuardedFetch;
  readonly schemas: SchemasService;
  /** The adapters that pass exchanges through. */
  readonly passable: { readonly current: ReadonlySet<string> };
}

/** What a writer knows of the request. */
export interface AnswerFacts {
  readonly asked: OpenAiRequest;
  /** For a provider that does not count. */
  readonly estimatedInput: number;
  /** Seconds since 1970. */
  readonly created: number;
  /** The error of a stream that has begun, in the API's shape. */
  readonly errorBody: (error: unknown) => unknown;
}

/** One of the two APIs: how its requests are read and its answers written. */
export interface ModelApi {
  /** Whether a provider speaks this API itself. */
  passes(model: ResolvedModel): boolean;
  /** A request in neutral form, and the fields that have no effect. */
  translate(
    body: JsonObject,
    model: ResolvedModel,
  ): { readonly request: GenerateRequest; readonly ignored: readonly string[] };
  /** The messages of a request that is passed through, for its record. */
  readMessages(body: JsonObject): readonly ModelMessage[];
  write(answer: ModelAnswer, facts: AnswerFacts): JsonObject;
  /** The event stream, with its own end when the model fails. */
  stream(
    events: AsyncIterable<GenerateEvent>,
    facts: AnswerFacts,
    finished: (answer: ModelAnswer) => void,
  ): AsyncIterable<string>;
  /** What is recorded of an answer that was passed through; undefined for one that is not complete. */
  readPassed(passed: PassedAnswer): (Pick<ModelAnswer, 'usage'> & { readonly reply: string }) | undefined;
}

/** Headers of a client that its provider gets too. */
const forwardedHeaders = ['openai-*', 'accept', 'accept-*', 'content-type', 'user-agent', 'x-stainless-*'];

export function modelApiRoute(deps: ModelApiDeps, api: ModelApi): Route {
  return {
    async handle(request, ctx) {
      const asked = readOpenAiRequest(request);
      refuseStopped(deps.gate.current, asked.user, ctx.principal);
      const session = sessionToRecord(asked.metadata, asked.sessionId, ctx.principal);
      const model = await deps.models.route(asked.model, 'openai');
      if (!model) throw modelNotFound(asked.model);
      nameModel(ctx, model);
      const passes = api.passes(model) && deps.passable.current.has(model.adapter);
      return (passes ? passThrough : translate)({ deps, api, asked, model, session }, ctx, request);
    },
  };
}

export function modelNotFound(name: string): Error {
  return statelessError('model_not_found', { message: `The model \`${name}\` does not exist`, param: 'model' });
}

interface Call {
  readonly deps: ModelApiDeps;
  readonly api: ModelApi;
  readonly asked: OpenAiRequest;
  readonly model: ResolvedModel;
  readonly session: SessionRef | undefined;
}

async function passThrough(
  { deps: { points, recorder }, api, asked, model, session }: Call,
  ctx: RouteContext,
  { rawBody, headers, path, rawQuery }: RouteRequest,
): Promise<RouteResponse> {
  // The base URL of a provider contains the version.
  const ownPath = path.replace(/^\/v1/, '');
  const exchange = {
    method: 'POST',
    path: rawQuery === '' ? ownPath : `${ownPath}?${rawQuery}`,
    headers: forwardable(headers, forwardedHeaders),
    body: asked.model === model.model ? rawBody : spliceModel(rawBody, model.model),
  } as const;
  const answer = await openRaw(points, model, exchange, ctx);
  if (!session || answer.status !== 200) return passOn(answer);
  return passOn(answer, (passed) => {
    const read = api.readPassed(passed);
    if (read) recorder.record({ session, input: newUserTexts(api.readMessages(asked.body)), model, ...read }, ctx);
  });
}

async function translate(call: Call, ctx: RouteContext): Promise<RouteResponse> {
  const { deps, api, asked, model } = call;
  const { request, ignored } = api.translate(asked.body, model);
  nameIgnored(ctx, ignored);
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
  if (asked.streams) return { sse: true, stream: api.stream(events, facts, record) };
  const answer = await collectAnswer(events);
  record(answer);
  return { body: api.write(answer, facts) };
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
