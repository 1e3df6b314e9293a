import { callChunks, chunk, completion, endMark, type TokenUsage, usageChunk } from './wire.js';

/** Cuts the connection: nothing that follows is sent. */
export const reset = Symbol('reset');

/** Written and flushed separately. An empty text sends only the response headers. */
export type Piece = string | Uint8Array | typeof reset;

/** What one request is answered with. The body may wait for whatever the test likes between two pieces. */
export interface ScriptedAnswer {
  /** 200 when absent. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Iterable<Piece> | AsyncIterable<Piece>;
}

/** A request as it came in. */
export interface ChatRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed JSON; undefined when it was none. */
  readonly body: unknown;
  /** Which connection it came over: each has a number of its own. */
  readonly connection: number;
  /** The client left before its answer was complete. */
  readonly left: boolean;
  /** Settles when the client leaves before its answer is complete; never otherwise. */
  readonly leaving: Promise<void>;
}

/** What a request gets, or who decides that once it is there. */
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

/** A stream of the given frames, as they are. */
export function streams(...body: Piece[]): ScriptedAnswer {
  return { headers: eventStream, body };
}

/** A stream whose frames the test makes one after the other. */
export function streamsFrom(body: (request: ChatRequest) => AsyncIterable<Piece>): UpstreamAnswer {
  return (request) => ({ headers: eventStream, body: body(request) });
}

/** A whole answer, streamed or not as the request asks for it. */
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

/** An answer of text in the deltas given. */
export function says(...text: string[]): UpstreamAnswer {
  return completes({ text });
}

/** An answer that asks for tools. */
export function asksFor(...calls: ScriptedCall[]): UpstreamAnswer {
  return completes({ calls });
}

/** A refusal in the API's own words. */
export function fails(
  status: number,
  error: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): ScriptedAnswer {
  const reported = { message: 'scripted', type: 'invalid_request_error', param: null, code: null, ...error };
  return json(status, { error: reported }, headers);
}

export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): ScriptedAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return {
    status,
    headers: { 'content-type': 'application/json', 'x-request-id': 'req_mortise', ...headers },
    body: [text],
  };
}

/** The connection is cut before any answer. */
export const cuts: ScriptedAnswer = { body: [reset] };

/** No answer for as long as the client waits. */
export const hangs: UpstreamAnswer = streamsFrom(async function* ({ leaving }) {
  yield* [];
  await leaving;
});

/** The bytes of a text in pieces of a size, wherever that cuts its characters. */
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
