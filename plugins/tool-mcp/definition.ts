import { createHash } from 'node:crypto';
import { canonicalJson, type JsonObject, type ToolFacts } from 'mortise/sdk';

/** A tool as its server describes it. */
export interface McpDefinition {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: JsonObject;
  readonly annotations?: JsonObject | undefined;
}

/** The members that a model sees or that decide how a tool is treated; their hash is what an admin accepts. */
export function pinned({ name, title, description, inputSchema, annotations }: McpDefinition): JsonObject {
  return { name, title, description, inputSchema, annotations };
}

export function hashOf(definition: McpDefinition): string {
  return createHash('sha256')
    .update(canonicalJson(pinned(definition)))
    .digest('hex');
}

const maxKeyLength = 64;

/** The key of a tool: `mcp__server__tool` in lower case. undefined when its name leaves nothing to make one of. */
export function keyOf(server: string, tool: string): string | undefined {
  const name = tool
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
  const key = `mcp__${server}__${name}`;
  return name === '' || key.length > maxKeyLength ? undefined : key;
}

export function factsOf(
  server: string,
  { title, description, inputSchema, annotations, name }: McpDefinition,
): ToolFacts {
  const text = description?.trim() || `${name} of the MCP server ${server}`;
  return {
    ...(title === undefined ? {} : { title: title.slice(0, 120) }),
    summary: text.replace(/\s+/g, ' ').slice(0, 400),
    description: text.slice(0, 8_000),
    audience: ['agent'],
    capabilities: [],
    inputSchema: { ...inputSchema, type: 'object' },
    ...(annotations === undefined ? {} : { annotations }),
    sideEffects: annotations?.readOnlyHint !== true,
  };
}
