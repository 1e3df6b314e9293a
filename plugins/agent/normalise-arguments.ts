import { isJsonObject, type JsonObject } from 'mortise/sdk';

/** Members of an item by their names in other agents' tools. */
const renamed: Readonly<Record<string, string>> = {
  start_line: 'start',
  end_line: 'end',
  q: 'query',
  num_results: 'count',
  workdir: 'cwd',
};

/** The tools that take a list of items, with members that identify a single item. */
const typicalMembers: Readonly<Record<string, readonly string[]>> = {
  view: ['path', 'start', 'end'],
  edit: ['path', 'start', 'end', 'content'],
  find: ['path', 'pattern'],
  shell: ['command'],
  browser: ['task', 'query'],
  search: ['query'],
};

/** Whether a tool takes a list of items in the form that {@link normaliseItems} produces. */
export function takesItems(tool: string): boolean {
  return Object.hasOwn(typicalMembers, tool);
}

const wrappers = ['input', 'arguments', 'args'];
const maxWrappers = 4;

/**
 * Removes the wrappers that models put around arguments: an object with only `input`, `arguments` or `args`, whose value
 * is an object, a list or JSON text. A list becomes `items`. Text that is not JSON stays as it is, for the schema to reject.
 *
 * @param declares whether the schema declares a member: then it is not a wrapper
 */
export function unwrapArguments(args: JsonObject, declares: (member: string) => boolean): JsonObject {
  let current = args;
  for (let depth = 0; depth < maxWrappers; depth += 1) {
    const [member, ...others] = Object.keys(current);
    if (member === undefined || others.length > 0 || !wrappers.includes(member) || declares(member)) return current;
    const inner = parsed(current[member]);
    if (Array.isArray(inner)) return { items: inner };
    if (!isJsonObject(inner)) return current;
    current = inner;
  }
  return current;
}

function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** The arguments of a tool with items as a model may write them: one item instead of a list, and members by other names. */
export function normaliseItems(tool: string, args: JsonObject): JsonObject {
  const { items } = args;
  if (Array.isArray(items)) return { ...args, items: items.map((item) => renameMembers(tool, item)) };
  if (isJsonObject(items)) return { ...args, items: [renameMembers(tool, items)] };
  if (items !== undefined) return args;
  const item = renameMembers(tool, args);
  const isItem = isJsonObject(item) && typicalMembers[tool]?.some((member) => member in item);
  return isItem ? { items: [item] } : args;
}

/** A time limit that is not a number selects the tool's own, as does a negative one. */
export function withUsableLimits(tool: string, args: JsonObject): JsonObject {
  const { items } = args;
  if (!takesItems(tool) || !Array.isArray(items) || !items.some(hasUnusableLimit)) return args;
  const usable = items.map((item: unknown) => {
    if (!hasUnusableLimit(item)) return item;
    const { timeout_seconds: _, ...rest } = item;
    return rest;
  });
  return { ...args, items: usable };
}

function hasUnusableLimit(item: unknown): item is JsonObject {
  return isJsonObject(item) && 'timeout_seconds' in item && typeof item.timeout_seconds !== 'number';
}

/** An alias never replaces a member that is present. */
function renameMembers(tool: string, item: unknown): unknown {
  if (!isJsonObject(item)) return item;
  const names = tool === 'shell' ? { ...renamed, cmd: 'command' } : renamed;
  const result: Record<string, unknown> = {};
  for (const [member, value] of Object.entries(item)) {
    const name = Object.hasOwn(names, member) ? (names[member as keyof typeof names] ?? member) : member;
    if (name === member || !(name in item)) result[name] = value;
  }
  if (!('yield_time_ms' in result)) return result;
  const { yield_time_ms: milliseconds, ...rest } = result;
  if ('timeout_seconds' in rest) return rest;
  const seconds = typeof milliseconds === 'number' ? Math.ceil(milliseconds / 1_000) : milliseconds;
  return { ...rest, timeout_seconds: seconds };
}
