import type { GateControl } from 'mortise/contracts/gate';
import type {
  GenerateEvent,
  GenerateOption,
  GenerateRequest,
  GuardedFetch,
  JsonObject,
  ModelMessage,
  Points,
  RouteRequest,
  SchemasService,
  StartHost,
} from 'mortise/sdk';
import type { ModelNaming, ModelsService, ResolvedModel } from '../models.js';
import type { AnswerUsage, ModelAnswer } from './answer.js';
import { type PassedAnswer, passableAdapters } from './pass-through.js';
import { ExchangeRecorder } from './record-exchange.js';

/** The fields that every request of a model API has; all others are read where they are used. */
export interface ApiRequest {
  readonly body: JsonObject;
  /** As the client names it. */
  readonly model: string;
  readonly metadata: JsonObject;
  /** The session that the exchange is recorded in, if it is a string. */
  readonly sessionId: unknown;
  /** The user that the request names. */
  readonly user: string | undefined;
  readonly streams: boolean;
}

/** A request in neutral form, and the fields that have no effect. */
export interface TranslatedRequest {
  readonly request: GenerateRequest;
  readonly ignored: readonly string[];
}

/** Facts about a request for writing its answer. */
export interface AnswerFacts {
  readonly apiRequest: ApiRequest;
  /** Used if the provider does not count. */
  readonly estimatedInput: number;
  /** Seconds since 1970. */
  readonly created: number;
  /** The error of a stream that has begun, in the API's shape. */
  readonly errorBody: (error: unknown) => unknown;
}

/** A public model API: reads its requests and writes its answers. */
export interface ModelApi {
  /** The rules for names of models without a provider. */
  readonly naming: ModelNaming;
  /** Headers of a client that its provider gets too; a name may end in `*`. */
  readonly forwardedHeaders: readonly string[];
  /** Sent while a stream is silent; a comment when absent. */
  readonly keepAlive?: string;
  /** @throws invalid_json, or invalid_request without a model */
  read(request: Pick<RouteRequest, 'body' | 'headers'>): ApiRequest;
  modelNotFound(name: string): Error;
  /** Whether a provider speaks this API itself. */
  isSpokenBy(model: ResolvedModel): boolean;
  /** The path below a provider's base URL. */
  providerPath(path: string): string;
  /** @throws invalid_request, unsupported_parameter, provider_not_supported */
  translate(body: JsonObject, model: ResolvedModel): TranslatedRequest;
  /** The fields of a request for each option, of which the first present one is reported. A dot separates nested names. */
  readonly fields: Readonly<Record<GenerateOption, readonly string[]>>;
  /** The messages of a request that is passed through, for its record. */
  readMessages(body: JsonObject): readonly ModelMessage[];
  write(answer: ModelAnswer, facts: AnswerFacts): JsonObject;
  /**
   * The event stream, with the API's own end when the model fails.
   *
   * @param finished receives the complete answer before its last event is sent
   */
  stream(
    events: AsyncIterable<GenerateEvent>,
    facts: AnswerFacts,
    finished: (answer: ModelAnswer) => void,
  ): AsyncIterable<string>;
  /** The record of an answer that was passed through; undefined for an incomplete one. */
  readPassed(passed: PassedAnswer): { readonly reply: string; readonly usage: AnswerUsage } | undefined;
}

/** Dependencies of the routes of model APIs. */
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

/**
 * For a plugin that requires `models`, has `gate` and `sessions` in `optional`, and may use `fetch` and `schemas`. It waits
 * for the recorder before it stops.
 */
export function modelApiDeps(host: StartHost<object>): ModelApiDeps {
  const { points } = host;
  return {
    points,
    models: host.use('models'),
    gate: host.watch('gate-control'),
    recorder: new ExchangeRecorder(host.watch('sessions'), host.log),
    fetch: host.use('fetch'),
    schemas: host.use('schemas'),
    passable: passableAdapters(points),
  };
}
