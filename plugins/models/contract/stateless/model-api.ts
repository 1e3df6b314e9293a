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

/** What every request of a model API has; all other fields are read where they are used. */
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

/** What the writer of an answer knows of its request. */
export interface AnswerFacts {
  readonly asked: ApiRequest;
  /** For a provider that does not count. */
  readonly estimatedInput: number;
  /** Seconds since 1970. */
  readonly created: number;
  /** The error of a stream that has begun, in the API's shape. */
  readonly errorBody: (error: unknown) => unknown;
}

/** A model API of the field: how its requests are read and its answers written. */
export interface ModelApi {
  /** The rules for names of models without a provider. */
  readonly naming: ModelNaming;
  /** Headers of a client that its provider gets too; a name may end in `*`. */
  readonly forwardedHeaders: readonly string[];
  /** What a stream sends while it is silent; a comment when absent. */
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
  /** Where a request has the option; the first field that it has. A dot leads into an object. */
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
  /** What is recorded of an answer that was passed through; undefined for one that is not complete. */
  readPassed(passed: PassedAnswer): { readonly reply: string; readonly usage: AnswerUsage } | undefined;
}

/** What the routes of model APIs work with. */
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
