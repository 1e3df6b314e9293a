import type { McpContext } from './mcp-content.js';
import type { ExtensionPointDeclaration } from './point.js';

export interface McpPromptFacts {
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[];
}

export interface McpPrompt extends McpPromptFacts {
  get(args: Readonly<Record<string, string>>, ctx: McpContext): Promise<Readonly<Record<string, unknown>>>;
}

export const mcpPromptPoint: ExtensionPointDeclaration = {
  name: 'mcp-prompt',
  summary: 'Prompts of the MCP endpoint.',
  dispatch: 'selected',
  keys: 'dotted',
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
