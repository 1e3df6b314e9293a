import type { DirectToolCall } from 'mortise/contracts/agent';
import { isJsonObject, type JsonObject, type ToolFacts } from 'mortise/sdk';
import { agentError } from './errors.js';
import { toolDisabled } from './tool-errors.js';

/** Looks up a tool without calling it. */
type FindTool = (name: string) => { readonly facts: ToolFacts; readonly disabled: boolean } | undefined;

/**
 * The tool call that replaces the model: `biz_params.tool`, else the only member of the body that is named after a tool.
 *
 * @throws invalid_tool_input, tool_not_supported, tool_disabled
 */
export function readDirectToolCall(
  business: JsonObject,
  shortcuts: JsonObject,
  find: FindTool,
): DirectToolCall | undefined {
  const named = business.tool === undefined ? shortcutOf(shortcuts, find) : namedTool(business.tool);
  if (!named) return undefined;
  const { name, input } = named;
  const tool = find(name);
  if (!tool) throw agentError('tool_not_supported', { message: `tool "${name.slice(0, 64)}" is not supported` });
  if (tool.disabled) throw toolDisabled(name);
  return { name, arguments: withItems(name, unwrap(input, tool.facts, 0), tool.facts) };
}

interface NamedTool {
  readonly name: string;
  readonly input: unknown;
}

function namedTool(tool: unknown): NamedTool {
  if (!isJsonObject(tool)) throw invalid('biz_params.tool must be an object');
  const { name, ...rest } = tool;
  if (name === undefined) throw invalid('biz_params.tool.name is required');
  if (typeof name !== 'string') throw invalid('biz_params.tool.name must be a string');
  if (name.trim() === '') throw invalid('biz_params.tool.name cannot be empty');
  return { name: name.trim(), input: 'input' in rest ? rest.input : rest };
}

function shortcutOf(shortcuts: JsonObject, find: FindTool): NamedTool | undefined {
  const given = Object.entries(shortcuts).filter(([name, value]) => value !== null && find(name) !== undefined);
  if (given.length > 1) throw invalid('only one shortcut tool key is allowed');
  const [shortcut] = given;
  if (!shortcut) return undefined;
  const [name, input] = shortcut;
  if (!isJsonObject(input) && !Array.isArray(input)) throw invalid(`${name} must be an object or array`);
  return { name, input };
}

const wrappers = ['input', 'arguments', 'args'];
const maxWrappers = 4;

/** Callers may wrap the input in more objects or in JSON text; a list becomes `items`. */
function unwrap(input: unknown, facts: ToolFacts, depth: number): JsonObject {
  if (input === undefined || input === null) return {};
  if (Array.isArray(input)) return { items: input };
  if (typeof input === 'string' && depth > 0) return unwrap(parsed(input), facts, depth);
  if (!isJsonObject(input)) throw invalid('tool input must be an object or an array');
  const [member, ...others] = Object.keys(input);
  const isWrapper = member !== undefined && others.length === 0 && wrappers.includes(member);
  if (!isWrapper || depth === maxWrappers || declares(facts, member)) return input;
  return unwrap(input[member], facts, depth + 1);
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? undefined : value;
  } catch {
    throw invalid('tool input is not valid json');
  }
}

/**
 * A tool that requires `items` gets a non-empty list of objects. A single bare shell command is accepted too, for
 * compatibility.
 */
function withItems(name: string, args: JsonObject, facts: ToolFacts): JsonObject {
  const { required } = facts.inputSchema;
  if (!Array.isArray(required) || !required.includes('items') || !declares(facts, 'items')) return args;
  const { items } = args;
  if (items === undefined && name === 'shell' && typeof args.command === 'string') return { items: [args] };
  if (items !== undefined && !Array.isArray(items)) {
    throw agentError('tool_invoke_failed', { message: `tool "${name}" invocation failed` });
  }
  if (items === undefined || items.length === 0 || !items.every(isJsonObject)) {
    throw invalid('tool input items must be a non-empty array of objects');
  }
  return args;
}

function declares({ inputSchema }: ToolFacts, member: string): boolean {
  return isJsonObject(inputSchema.properties) && member in inputSchema.properties;
}

function invalid(message: string) {
  return agentError('invalid_tool_input', { message });
}
