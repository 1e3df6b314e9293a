import type { CallContext } from '../context.js';

/** A model that an adapter offers. */
export interface ModelFacts {
  readonly id: string;
  /** Context window in tokens; `output` is the output limit. The platform's own estimates when absent. */
  readonly context?: number;
  readonly output?: number;
}

export interface ProviderFacts {
  readonly displayName?: string;
  /** Allowed models; any model when absent. */
  readonly models?: readonly ModelFacts[];
  /** The adapter's own configuration has a key, for a provider that has none. */
  readonly configured?: boolean;
  readonly capabilities: {
    readonly stream: boolean;
    readonly toolCall: boolean;
    readonly attachments: boolean;
    readonly reasoning: boolean;
    /** Answers can be bound to a JSON Schema (`responseFormat`). */
    readonly jsonSchema?: boolean;
  };
}

export interface ModelToolCall {
  readonly id: string;
  readonly name: string;
  /** Raw text from the model. */
  readonly arguments: string;
}

/**
 * `text` has `text`. Attachments have `url` (https), or `data` (base64) with its `mediaType`: `image`, `audio`, and `file`
 * with an optional `name`. An adapter refuses a type that it does not know with `provider_not_supported`.
 */
export interface ModelContentPart {
  readonly type: string;
  readonly text?: string;
  readonly url?: string;
  readonly mediaType?: string;
  readonly data?: string;
  readonly name?: string;
  readonly [member: string]: unknown;
}

export interface ModelMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string | readonly ModelContentPart[];
  readonly toolCalls?: readonly ModelToolCall[];
  readonly toolCallId?: string;
  readonly name?: string;
  /** Data that the adapter attached to an earlier response, returned unchanged. */
  readonly opaque?: string;
}

export interface ModelToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** `auto`, `none` and `required` as in the APIs of the field; an object forces the named tool. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** The form of an answer. Sent only to adapters with the capability `jsonSchema`. */
export type ResponseFormat =
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly name: string;
      readonly schema: Readonly<Record<string, unknown>>;
      readonly strict?: boolean;
    };

export type ReasoningEffort = 'minimal' | 'low' | 'medium' | 'high';

/**
 * The account and options of one provider, as an administrator configured them. An adapter falls back to its own
 * configuration for what is absent.
 */
export interface ProviderSettings {
  readonly api_key?: string;
  /** Without a trailing slash. */
  readonly base_url?: string;
  /** Sent in addition to the API's own headers, and override them. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly reasoning_effort?: ReasoningEffort;
  /** Whether the provider may keep responses, which a later request then continues. */
  readonly store?: boolean;
  /** Milliseconds for one call including retries; 0 = no limit. */
  readonly timeout_ms?: number;
  /** The longest pause of a stream, milliseconds; 120,000 when absent. */
  readonly idle_timeout_ms?: number;
  readonly max_retries?: number;
  readonly attachments?: boolean;
  /** Output limit of the model in tokens, as far as it is known, for APIs that require one. */
  readonly max_output_tokens?: number;
  readonly [option: string]: unknown;
}

export interface GenerateRequest {
  readonly model: string;
  readonly messages: readonly ModelMessage[];
  readonly tools?: readonly ModelToolDefinition[];
  readonly toolChoice?: ToolChoice;
  readonly parallelToolCalls?: boolean;
  readonly stream: boolean;
  /** Identifies the provider among several with one adapter. */
  readonly providerId?: string;
  readonly settings: ProviderSettings;
  readonly sessionId?: string;
  readonly previousResponseId?: string;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  /** At most four. */
  readonly stop?: readonly string[];
  /** Overrides the effort in `settings`. */
  readonly reasoningEffort?: ReasoningEffort;
  readonly responseFormat?: ResponseFormat;
}

/** Options of a request that an adapter may have no use for. */
export type GenerateOption =
  | 'toolChoice'
  | 'parallelToolCalls'
  | 'maxOutputTokens'
  | 'temperature'
  | 'topP'
  | 'stop'
  | 'reasoningEffort'
  | 'responseFormat';

/**
 * `tool_call_delta` is a fragment of call `index` as it arrives: `id` and `name` come with the first fragment, `arguments`
 * is the piece. Fragments are optional; at most one `tool_calls_complete` has the complete calls, after all deltas. `done`
 * ends a successful response, and only `usage` may follow it. A response without `done` has failed. Adapters map their own
 * stop reasons to `end_turn`, `max_tokens`, `tool_use`, `stop_sequence` and `refusal`. `inputTokens` includes the cached ones,
 * `outputTokens` those of the reasoning.
 */
export type GenerateEvent =
  | { readonly type: 'content_delta'; readonly text: string }
  /** What the model shows of its reasoning. Not part of the answer. */
  | { readonly type: 'reasoning_delta'; readonly text: string }
  | {
      readonly type: 'tool_call_delta';
      readonly index: number;
      readonly id?: string;
      readonly name?: string;
      readonly arguments: string;
    }
  | { readonly type: 'tool_calls_complete'; readonly toolCalls: readonly ModelToolCall[] }
  | {
      readonly type: 'usage';
      readonly inputTokens: number;
      readonly outputTokens: number;
      readonly cachedInputTokens?: number;
      readonly reasoningTokens?: number;
    }
  | {
      readonly type: 'done';
      readonly responseId?: string;
      readonly stopReason?: string;
      /** The matched stop sequence, if the provider reports it. */
      readonly stopSequence?: string;
      readonly opaque?: string;
    };

export interface Provider extends ProviderFacts {
  /** @throws an error with a `provider_*` code. */
  generate(request: GenerateRequest, ctx: CallContext): AsyncIterable<GenerateEvent>;
  countTokens?(request: GenerateRequest, ctx: CallContext): Promise<number>;
  /** The options that have no effect on such a request, set or not; none when absent. Sends nothing. */
  ignoredOptions?(request: GenerateRequest): readonly GenerateOption[];
  /**
   * Forwards a raw exchange byte for byte, with the provider's own credentials in place of the client's. Yields the head of
   * the response, whatever its status, then the body as it arrives. Ending the iteration early aborts the request.
   * @throws provider_not_configured, or provider_request_failed when the provider cannot be reached
   */
  raw?(exchange: RawExchange, ctx: CallContext): AsyncIterable<RawResponseEvent>;
}

/** A request of a client that speaks the provider's own API. */
export interface RawExchange {
  readonly method: 'GET' | 'POST';
  /** Path and query below the base URL, such as `/v1/messages?beta=true`. */
  readonly path: string;
  /** Only headers that may be forwarded; lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly settings: ProviderSettings;
  /** Whether the answer begins immediately, as a stream does: the limit on pauses then applies to its head too. */
  readonly startsAtOnce?: boolean;
}

/** Headers have lower-case names; hop-by-hop headers and `set-cookie` are left out. */
export type RawResponseEvent =
  | { readonly type: 'head'; readonly status: number; readonly headers: Readonly<Record<string, string>> }
  | { readonly type: 'body'; readonly bytes: Uint8Array };
