import { json, type ScriptedAnswer, streams } from 'mortise/contracts/models/testing';

export const responseId = 'resp_mortise0001';

/** One event of a stream in the API's form. */
export function event(type: string, data: Readonly<Record<string, unknown>> = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}

export interface ResponseUsage {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly reasoning?: number;
}

/** The response object as events and bodies carry it. */
export function response(more: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return {
    id: responseId,
    object: 'response',
    created_at: 1_760_000_000,
    model: 'gpt-5',
    status: 'in_progress',
    output: [],
    error: null,
    ...more,
  };
}

export function created(): string {
  return event('response.created', { response: response() });
}

export function completed(
  { input, output, cached = 0, reasoning = 0 }: ResponseUsage = { input: 9, output: 3 },
): string {
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
  return event('response.completed', { response: response({ status: 'completed', usage }) });
}

/** A message whose text arrives in the given deltas. */
export function textItem(at: number, ...texts: readonly string[]): readonly string[] {
  const content = [{ type: 'output_text', text: texts.join(''), annotations: [] }];
  const id = `msg_${at}`;
  return [
    event('response.output_item.added', {
      output_index: at,
      item: { id, type: 'message', role: 'assistant', content: [] },
    }),
    ...texts.map((delta) =>
      event('response.output_text.delta', { item_id: id, output_index: at, content_index: 0, delta }),
    ),
    event('response.output_item.done', { output_index: at, item: { id, type: 'message', role: 'assistant', content } }),
  ];
}

/** A function call whose arguments arrive in pieces of five characters. */
export function callItem(at: number, callId: string, name: string, args: string): readonly string[] {
  const id = `fc_${at}`;
  const item = { id, type: 'function_call', call_id: callId, name };
  const pieces = args.match(/.{1,5}/gsu) ?? [];
  return [
    event('response.output_item.added', { output_index: at, item: { ...item, arguments: '' } }),
    ...pieces.map((delta) => event('response.function_call_arguments.delta', { item_id: id, output_index: at, delta })),
    event('response.output_item.done', { output_index: at, item: { ...item, arguments: args } }),
  ];
}

/** A text answer in the given deltas. */
export function says(...texts: string[]): ScriptedAnswer {
  return streams(created(), ...textItem(0, ...texts), completed());
}

/** An answer that calls tools. */
export function asksFor(...calls: (readonly [id: string, name: string, args: string])[]): ScriptedAnswer {
  return streams(created(), ...calls.flatMap(([id, name, args], at) => callItem(at, id, name, args)), completed());
}

/** An error response of the API. */
export function fails(
  status: number,
  error: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): ScriptedAnswer {
  return json(status, { error: { message: 'scripted', type: 'invalid_request_error', code: null, ...error } }, headers);
}
