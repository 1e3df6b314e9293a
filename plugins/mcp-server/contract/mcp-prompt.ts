import type { McpContext } from './mcp-content.js';

export interface McpPromptFacts {
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[];
}

export interface McpPrompt extends McpPromptFacts {
  get(args: Readonly<Record<string, string>>, ctx: McpContext): Promise<Readonly<Record<string, unknown>>>;
}
