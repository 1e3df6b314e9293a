import type { CallContext } from 'mortise/sdk';

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
