import type { CallContext } from '../context.js';
import { dottedKeyPattern, type ExtensionPointDeclaration } from './point.js';

/** What a resource or prompt may ask of the client that reads it. Absent where the client cannot be asked. */
export interface McpContext extends CallContext {
  requireInput?(request: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>>;
  requireCapability?(capability: string): void;
}

/** A block of the MCP content model: `{type: 'text', text}`, `{type: 'image', data, mimeType}`, … */
export type McpContentBlock = Readonly<Record<string, unknown>> & { readonly type: string };

export interface McpContent {
  readonly content: readonly McpContentBlock[];
  readonly structuredContent?: object;
  readonly isError?: boolean;
}

const contentMark = Symbol.for('mortise.mcp-content');

/** A tool result made of MCP content blocks, sent to MCP clients as it is; to everyone else it is plain JSON. */
export function mcpContent(
  content: readonly McpContentBlock[],
  extra: { readonly structuredContent?: object; readonly isError?: boolean } = {},
): McpContent {
  return Object.defineProperty({ content, ...extra }, contentMark, { value: true });
}

/** Whether a tool result was made by {@link mcpContent}. */
export function isMcpContent(result: object): result is McpContent {
  return contentMark in result;
}

export interface McpResourceFacts {
  readonly uri?: string;
  readonly uriTemplate?: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  /** Emits the host event `mcp-resource-updated`, so clients may subscribe to it. */
  readonly subscribe?: boolean;
}

export interface McpResource extends McpResourceFacts {
  /** @throws MortiseError `resource_not_found` when a template matches but nothing is there. */
  read(uri: string, ctx: McpContext): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export interface McpPromptFacts {
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[];
}

export interface McpPrompt extends McpPromptFacts {
  get(args: Readonly<Record<string, string>>, ctx: McpContext): Promise<Readonly<Record<string, unknown>>>;
}

export interface McpCompletionFacts {
  /** The prompt or resource template whose arguments it completes. */
  readonly ref: { readonly type: 'ref/prompt' | 'ref/resource'; readonly name?: string; readonly uri?: string };
}

export interface McpCompletion extends McpCompletionFacts {
  /** `context`: arguments that the client has resolved already. */
  complete(
    argument: {
      readonly name: string;
      readonly value: string;
      readonly context?: Readonly<Record<string, string>>;
    },
    ctx: CallContext,
  ): Promise<readonly string[]>;
}

export const mcpResourcePoint: ExtensionPointDeclaration = {
  name: 'mcp-resource',
  summary: 'Resources of the MCP endpoint.',
  dispatch: 'selected',
  keyPattern: dottedKeyPattern,
  factsSchema: {
    type: 'object',
    required: ['name'],
    properties: {
      uri: { type: 'string' },
      uriTemplate: { type: 'string' },
      name: { type: 'string' },
      title: { type: 'string' },
      description: { type: 'string' },
      mimeType: { type: 'string' },
      subscribe: { type: 'boolean' },
    },
  },
  functions: ['read'],
  timeoutMs: 30_000,
  failure: 'a JSON-RPC error',
};

export const mcpPromptPoint: ExtensionPointDeclaration = {
  name: 'mcp-prompt',
  summary: 'Prompts of the MCP endpoint.',
  dispatch: 'selected',
  keyPattern: dottedKeyPattern,
  factsSchema: {
    type: 'object',
    properties: {
      title: { type: 'string' },
      description: { type: 'string' },
      arguments: { type: 'array', items: { type: 'object', required: ['name'] } },
    },
  },
  functions: ['get'],
  timeoutMs: 30_000,
  failure: 'a JSON-RPC error',
};

export const mcpCompletionPoint: ExtensionPointDeclaration = {
  name: 'mcp-completion',
  summary: 'Argument completion of the MCP endpoint.',
  dispatch: 'selected',
  keyPattern: dottedKeyPattern,
  factsSchema: { type: 'object', required: ['ref'], properties: { ref: { type: 'object', required: ['type'] } } },
  functions: ['complete'],
  timeoutMs: 10_000,
  failure: 'an empty completion',
};
