import { type McpContent, type McpContext, mcpContent } from 'mortise/contracts/mcp-server';
import { type JsonObject, MortiseError, type Tool } from 'mortise/sdk';

/** Tools by name. */
export type Tools = Readonly<Record<string, Tool>>;

/** A tool for MCP clients only, without arguments unless `facts` declare them. */
export function tool(summary: string, run: Tool['run'], facts: Partial<Tool> = {}): Tool {
  return { summary, audience: ['mcp'], inputSchema: { type: 'object', properties: {} }, run, ...facts };
}

/** JSON Schema of an object. */
export function objectSchema(properties: Readonly<Record<string, object>>, required: readonly string[] = []) {
  return { type: 'object', properties, required };
}

/** A result of one text block. */
export function text(value: string): McpContent {
  return mcpContent([{ type: 'text', text: value }]);
}

/** A PNG of one red pixel, base64. */
export const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

/** A WAV of one sample of silence, base64. */
export const wav = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

/** A request to the client; `key` identifies its answer when the client repeats the call. */
interface Question {
  readonly key?: string;
  readonly method: string;
  readonly params?: JsonObject;
  readonly [member: string]: unknown;
}

/** Asks a person to fill in a form. */
export function form(message: string, properties: Readonly<Record<string, object>>, required?: readonly string[]) {
  const params = { mode: 'form', message, requestedSchema: objectSchema(properties, required) };
  return { method: 'elicitation/create', params } satisfies Question;
}

/** Asks the client's model. */
export function sampling(prompt: string, maxTokens = 100) {
  const messages = [{ role: 'user', content: { type: 'text', text: prompt } }];
  return { method: 'sampling/createMessage', params: { messages, maxTokens } } satisfies Question;
}

/** Asks for the client's roots. */
export const roots = { method: 'roots/list' } satisfies Question;

/** @throws MortiseError `client_cannot_be_asked` for a call whose client cannot be asked. */
export function ask(ctx: McpContext, question: Question): Promise<JsonObject> {
  if (ctx.requireInput) return ctx.requireInput(question);
  throw new MortiseError('client_cannot_be_asked', 'The client of this call cannot be asked.');
}

/** A value of an answered form; undefined when the person declined. */
export function field(answer: JsonObject, name: string): unknown {
  const { content } = answer;
  return typeof content === 'object' && content !== null ? Reflect.get(content, name) : undefined;
}

/** Whether the client declared a capability. */
export function can(ctx: McpContext, capability: string): boolean {
  try {
    ctx.requireCapability?.(capability);
    return ctx.requireCapability !== undefined;
  } catch {
    return false;
  }
}
