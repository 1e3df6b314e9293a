import type { CallContext } from '../context.js';
import { dottedKeyPattern, type ExtensionPointDeclaration } from './point.js';

export interface McpResourceFacts {
  readonly uri?: string;
  readonly uriTemplate?: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

export interface McpResource extends McpResourceFacts {
  read(uri: string, ctx: CallContext): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export interface McpPromptFacts {
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[];
}

export interface McpPrompt extends McpPromptFacts {
  get(args: Readonly<Record<string, string>>, ctx: CallContext): Promise<Readonly<Record<string, unknown>>>;
}

export interface McpCompletionFacts {
  /** The prompt or resource template whose arguments it completes. */
  readonly ref: { readonly type: 'ref/prompt' | 'ref/resource'; readonly name?: string; readonly uri?: string };
}

export interface McpCompletion extends McpCompletionFacts {
  complete(argument: { readonly name: string; readonly value: string }, ctx: CallContext): Promise<readonly string[]>;
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
