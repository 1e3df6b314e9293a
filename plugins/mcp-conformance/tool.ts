import { type McpContent, mcpContent } from 'mortise/contracts/mcp-server';
import type { Tool } from 'mortise/sdk';

/** Tools by name. */
export type Tools = Readonly<Record<string, Tool>>;

/** A tool of the suite: for MCP clients alone, without arguments unless the facts say otherwise. */
export function tool(summary: string, run: Tool['run'], facts: Partial<Tool> = {}): Tool {
  return { summary, audience: ['mcp'], inputSchema: { type: 'object', properties: {} }, run, ...facts };
}

/** JSON Schema of an object; the names in `required` must be given. */
export function objectSchema(properties: Readonly<Record<string, object>>, required: readonly string[] = []) {
  return { type: 'object', properties, required };
}

/** A result of one text block. */
export function text(value: string): McpContent {
  return mcpContent([{ type: 'text', text: value }]);
}
