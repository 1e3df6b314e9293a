import type { CallContext } from '../context.js';
import type { ExtensionPointDeclaration } from './point.js';

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
  readonly capabilities: {
    readonly stream: boolean;
    readonly toolCall: boolean;
    readonly attachments: boolean;
    readonly reasoning: boolean;
  };
}

export interface ModelToolCall {
  readonly id: string;
  readonly name: string;
  /** Raw text from the model. */
  readonly arguments: string;
}

export interface ModelContentPart {
  readonly type: string;
  readonly text?: string;
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

export interface GenerateRequest {
  readonly model: string;
  readonly messages: readonly ModelMessage[];
  readonly tools?: readonly ModelToolDefinition[];
  readonly stream: boolean;
  /** The provider's settings row: base URL, key, headers, effort, time limit. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly sessionId?: string;
  readonly previousResponseId?: string;
  readonly maxOutputTokens?: number;
}

/**
 * At most one `tool_calls_complete`, after all deltas; `done` ends a successful response, and only `usage` may follow it.
 * A response without `done` has failed. Adapters map their own stop reasons to `end_turn`, `max_tokens`, `tool_use`,
 * `stop_sequence` and `refusal`.
 */
export type GenerateEvent =
  | { readonly type: 'content_delta'; readonly text: string }
  | { readonly type: 'tool_calls_complete'; readonly toolCalls: readonly ModelToolCall[] }
  | { readonly type: 'usage'; readonly inputTokens: number; readonly outputTokens: number }
  | { readonly type: 'done'; readonly responseId?: string; readonly stopReason?: string; readonly opaque?: string };

export interface Provider extends ProviderFacts {
  /** @throws an error with a `provider_*` code. */
  generate(request: GenerateRequest, ctx: CallContext): AsyncIterable<GenerateEvent>;
  countTokens?(request: GenerateRequest, ctx: CallContext): Promise<number>;
  /** Forwards a raw exchange byte for byte. */
  raw?(exchange: RawExchange, ctx: CallContext): Promise<void>;
}

export interface RawExchange {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly settings: Readonly<Record<string, unknown>>;
  respond(status: number, headers: Readonly<Record<string, string>>, body: AsyncIterable<Uint8Array>): Promise<void>;
}

export const providerPoint: ExtensionPointDeclaration = {
  name: 'provider',
  summary: 'Model adapters; selected by the model slot.',
  dispatch: 'selected',
  factsSchema: {
    type: 'object',
    required: ['capabilities'],
    properties: {
      displayName: { type: 'string', maxLength: 120 },
      models: {
        type: 'array',
        items: {
          type: 'object',
          required: ['id'],
          properties: {
            id: { type: 'string', minLength: 1, maxLength: 200 },
            context: { type: 'integer', minimum: 1 },
            output: { type: 'integer', minimum: 1 },
          },
        },
      },
      capabilities: {
        type: 'object',
        required: ['stream', 'toolCall', 'attachments', 'reasoning'],
        properties: {
          stream: { type: 'boolean' },
          toolCall: { type: 'boolean' },
          attachments: { type: 'boolean' },
          reasoning: { type: 'boolean' },
        },
      },
    },
  },
  functions: ['generate'],
  optionalFunctions: ['countTokens', 'raw'],
  timeoutMs: 0,
  failure: 'an error event with a provider_* code',
};
