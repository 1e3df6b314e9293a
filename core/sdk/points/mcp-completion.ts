import type { CallContext } from '../context.js';
import type { ExtensionPointDeclaration } from './point.js';

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

export const mcpCompletionPoint: ExtensionPointDeclaration = {
  name: 'mcp-completion',
  summary: 'Argument completion of the MCP endpoint.',
  dispatch: 'selected',
  keys: 'dotted',
  factsSchema: { type: 'object', required: ['ref'], properties: { ref: { type: 'object', required: ['type'] } } },
  functions: ['complete'],
  timeoutMs: 10_000,
  failure: 'an empty completion',
};
