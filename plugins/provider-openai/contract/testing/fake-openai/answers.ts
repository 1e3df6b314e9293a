import {
  json,
  type ScriptedAnswer,
  streams,
  type UpstreamAnswer,
  type UpstreamRequest,
} from 'mortise/contracts/models/testing';
import { callChunks, chunk, completion, endMark, type TokenUsage, usageChunk } from './wire.js';

export {
  cutBytes,
  cuts,
  hangs,
  json,
  type Piece,
  reset,
  type ScriptedAnswer,
  streams,
  streamsFrom,
  type UpstreamAnswer,
} from 'mortise/contracts/models/testing';
export * from './wire.js';

/** A received request. */
export type ChatRequest = UpstreamRequest;

export type ScriptedCall = readonly [id: string, name: string, args: string];

export interface CompletionScript {
  readonly text?: readonly string[];
  readonly calls?: readonly ScriptedCall[];
  readonly finish?: string;
  readonly usage?: TokenUsage;
}

/** A complete answer, streamed if the request asks for a stream. */
export function completes({
  text = [],
  calls = [],
  finish,
  usage = { prompt: 9, completion: 3 },
}: CompletionScript): UpstreamAnswer {
  const reason = finish ?? (calls.length > 0 ? 'tool_calls' : 'stop');
  return (request) => {
    const { stream, stream_options: options } = (request.body ?? {}) as {
      readonly stream?: boolean;
      readonly stream_options?: { readonly include_usage?: boolean };
    };
    if (stream !== true) return json(200, completion(messageOf(text, calls), reason, usage));
    const withUsage = options?.include_usage === true;
    return streams(
      chunk(
        { role: 'assistant', content: calls.length > 0 && text.length === 0 ? null : '', refusal: null },
        null,
        withUsage,
      ),
      ...text.map((content) => chunk({ content }, null, withUsage)),
      ...calls.flatMap((call, index) => callChunks(index, call, undefined, withUsage)),
      chunk({}, reason, withUsage),
      ...(withUsage ? [usageChunk(usage)] : []),
      endMark,
    );
  };
}

/** A text answer in the given deltas. */
export function says(...text: string[]): UpstreamAnswer {
  return completes({ text });
}

/** An answer that calls tools. */
export function asksFor(...calls: ScriptedCall[]): UpstreamAnswer {
  return completes({ calls });
}

/** An error response of the API. */
export function fails(
  status: number,
  error: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): ScriptedAnswer {
  const body = { message: 'scripted', type: 'invalid_request_error', param: null, code: null, ...error };
  return json(status, { error: body }, headers);
}

function messageOf(text: readonly string[], calls: readonly ScriptedCall[]): Readonly<Record<string, unknown>> {
  const joined = text.join('');
  return {
    content: joined === '' && calls.length > 0 ? null : joined,
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(([id, name, args]) => ({ id, type: 'function', function: { name, arguments: args } })),
        }),
  };
}
