import type { WireFailure } from './word-failure.js';

export function responseFrame(id: string, data: object): object {
  return { type: 'response', id, data };
}

export function errorFrame(id: string, { code, message, details }: WireFailure, correlationId: string): object {
  return {
    type: 'error',
    id,
    error: { code, message, correlation_id: correlationId, ...(details ? { details } : {}) },
  };
}

/** A piece of an answer. */
export function textFrame(id: string, content: string): object {
  return { type: 'stream_chunk', id, data: { content, done: false } };
}

/** The end of an answer; `more` explains an end that is not the model's own. */
export function doneFrame(id: string, more: object = {}): object {
  return { type: 'stream_chunk', id, data: { content: '', done: true, ...more } };
}

export function toolCallFrame(
  id: string,
  call: { readonly id: string; readonly name: string; readonly arguments: object },
): object {
  return { type: 'tool_call', id, data: { tool_name: call.name, arguments: call.arguments, call_id: call.id } };
}

const summaryLimit = 160;

export function toolResultFrame(id: string, callId: string, ok: boolean, summary = ''): object {
  const shown = summary.length <= summaryLimit ? summary : [...summary].slice(0, summaryLimit).join('');
  return { type: 'tool_result', id, data: { call_id: callId, ok, summary: shown } };
}

export function usageFrame(id: string, usage: { readonly inputTokens: number; readonly outputTokens: number }): object {
  return { type: 'usage', id, data: { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens } };
}
