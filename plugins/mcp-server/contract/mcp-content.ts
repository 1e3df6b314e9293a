/** A block of the MCP content model: `{type: 'text', text}`, `{type: 'image', data, mimeType}`, … */
export type McpContentBlock = Readonly<Record<string, unknown>> & { readonly type: string };

export interface McpContent {
  readonly content: readonly McpContentBlock[];
  readonly structuredContent?: object;
  readonly isError?: boolean;
}

const contentMark = Symbol.for('mortise.mcp-content');

/** A tool result made of MCP content blocks: sent unchanged to MCP clients, and as plain JSON to other callers. */
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
