import type { McpContext } from './mcp-content.js';
import type { ExtensionPointDeclaration } from './point.js';

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

export const mcpResourcePoint: ExtensionPointDeclaration = {
  name: 'mcp-resource',
  summary: 'Resources of the MCP endpoint.',
  dispatch: 'selected',
  keys: 'dotted',
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
