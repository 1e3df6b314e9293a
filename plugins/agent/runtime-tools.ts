import { isJsonObject, type JsonObject, type ToolFacts } from 'mortise/sdk';

/** A tool that a request or a chat describes; it runs through a tool of the gateway. */
export interface RuntimeTool {
  readonly name: string;
  readonly facts: ToolFacts;
  /** The gateway's tool that runs the call; a registered tool of the same name when absent. */
  readonly target: string | undefined;
  /** Input of the gateway's tool, overlaid by the arguments of the call. */
  readonly input: JsonObject;
}

/** Members of `biz_params` and of a chat's meta that hold runtime tools. */
export const runtimeToolMembers: readonly string[] = [
  'runtime_tools',
  'mcp',
  'mcp_tools',
  'mcp_status',
  'dynamic_tools',
  'dynamic',
];
/** How deep sets of entries may be nested in lists and objects. */
const maxSetDepth = 4;
const maxTools = 256;
const namePattern = /^[A-Za-z0-9_.-]{1,128}$/;

/** The runtime tools of a turn: those of the chat and those of the request; a later one replaces an earlier one by name. */
export function readRuntimeTools(...sources: readonly JsonObject[]): readonly RuntimeTool[] {
  const tools = new Map<string, RuntimeTool>();
  for (const source of sources) {
    for (const member of runtimeToolMembers) {
      for (const tool of entriesOf(source[member], undefined, 0)) {
        tools.delete(tool.name);
        if (tools.size < maxTools) tools.set(tool.name, tool);
      }
    }
  }
  return [...tools.values()];
}

function entriesOf(value: unknown, server: string | undefined, depth: number): readonly RuntimeTool[] {
  if (depth > maxSetDepth) return [];
  if (Array.isArray(value)) return value.flatMap((entry) => entriesOf(entry, server, depth + 1));
  if (!isJsonObject(value)) return [];
  const tool = readEntry(value, server);
  if (tool) return [tool];
  const own = text(value.server) ?? text(value.name) ?? server;
  return ['tools', 'servers', 'dynamic_tools', 'runtime_tools'].flatMap((member) => {
    const inner = value[member];
    if (member !== 'servers' || !isJsonObject(inner)) return entriesOf(inner, own, depth + 1);
    return Object.entries(inner).flatMap(([name, entry]) => entriesOf(entry, name, depth + 1));
  });
}

function readEntry(entry: JsonObject, server: string | undefined): RuntimeTool | undefined {
  if (['tools', 'servers'].some((member) => typeof entry[member] === 'object' && entry[member] !== null))
    return undefined;
  const described = isJsonObject(entry.function) ? entry.function : entry;
  const owner = text(entry.server) ?? server;
  const tool = text(entry.tool) ?? (server === undefined ? undefined : text(described.name));
  const name = owner !== undefined && tool !== undefined ? `mcp__${owner}__${tool}` : text(described.name);
  if (name === undefined || !namePattern.test(name)) return undefined;
  const description = text(described.description) ?? name;
  const input = entry.gateway_input ?? entry.delegate_input;
  return {
    name,
    facts: {
      summary: description.slice(0, 400),
      description: description.slice(0, 8_000),
      audience: ['agent'],
      inputSchema: schemaOf(described),
    },
    target: text(entry.gateway_tool) ?? text(entry.delegate_tool),
    input: isJsonObject(input) ? input : {},
  };
}

function schemaOf({ parameters, input_schema, schema }: JsonObject): JsonObject {
  const given = parameters ?? input_schema ?? schema;
  const read = typeof given === 'string' ? parseJson(given) : given;
  return isJsonObject(read) ? { type: 'object', ...read } : { type: 'object' };
}

function parseJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}
