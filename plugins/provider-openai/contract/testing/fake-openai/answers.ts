import { callChunks, chunk, completion, endMark, type TokenUsage, usageChunk } from './wire.js';

export * from './wire.js';

/** Cuts the connection: no later piece is sent. */
export const reset = Symbol('reset');

/** Written and flushed separately. An empty text sends only the head of the answer. */
export type Piece = string | Uint8Array | typeof reset;

/** The answer to one request. The body may wait between two pieces. */
export interface ScriptedAnswer {
  /** 200 when absent. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Iterable<Piece> | AsyncIterable<Piece>;
}

/** A received request. */
export interface ChatRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed JSON; undefined unless it is JSON. */
  readonly body: unknown;
  /** The body as it was received. */
  readonly bytes: Uint8Array;
  /** Number of its connection. */
  readonly connection: number;
  /** The client disconnected before its answer was complete. */
  readonly left: boolean;
  /** Settles when the client disconnects before its answer is complete; never otherwise. */
  readonly leaving: Promise<void>;
}

/** An answer, or a function that chooses it for the request. */
export type UpstreamAnswer = ScriptedAnswer | ((request: ChatRequest) => UpstreamAnswer);

export type ScriptedCall = readonly [id: string, name: string, args: string];

export interface CompletionScript {
  readonly text?: readonly string[];
  readonly calls?: readonly ScriptedCall[];
  readonly finish?: string;
  readonly usage?: TokenUsage;
}

const eventStream = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-request-id': 'req_mortise',
};

/** A stream of exactly the given frames. */
export function streams(...body: Piece[]): ScriptedAnswer {
  return { headers: eventStream, body };
}

/** A stream whose frames the test creates one after the other. */
export function streamsFrom(body: (request: ChatRequest) => AsyncIterable<Piece>): UpstreamAnswer {
  return (request) => ({ headers: eventStream, body: body(request) });
}

/** A whole answer, streamed if the request says so. */
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

export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): ScriptedAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return {
    status,
    headers: { 'content-type': 'application/json', 'x-request-id': 'req_mortise', ...headers },
    body: [text],
  };
}

/** Cuts the connection before any answer. */
export const cuts: ScriptedAnswer = { body: [reset] };

/** Never answers. */
export const hangs: UpstreamAnswer = streamsFrom(async function* ({ leaving }) {
  yield* [];
  await leaving;
});

/** The bytes of a text in pieces of a size, which may cut characters. */
export function cutBytes(text: string, size: number): readonly Uint8Array[] {
  const bytes = new TextEncoder().encode(text);
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
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
