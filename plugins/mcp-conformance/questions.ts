import type { McpContext } from 'mortise/contracts/mcp-server';
import { MortiseError } from 'mortise/sdk';
import { objectSchema } from './tool.js';

type Json = Readonly<Record<string, unknown>>;

/** A request to the client; `key` names it when the answer comes with a repeated request. */
export interface Question {
  readonly key?: string;
  readonly method: string;
  readonly params?: Json;
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

/** @throws MortiseError `client_cannot_be_asked` for a call without a way back to its client. */
export function ask(ctx: McpContext, question: Question): Promise<Json> {
  if (ctx.requireInput) return ctx.requireInput(question);
  throw new MortiseError('client_cannot_be_asked', 'This call has no way to ask its client.');
}

/** A value of the form that came back; undefined when the person declined. */
export function field(answer: Json, name: string): unknown {
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
