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
export interface UpstreamRequest {
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
export type UpstreamAnswer = ScriptedAnswer | ((request: UpstreamRequest) => UpstreamAnswer);

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
export function streamsFrom(body: (request: UpstreamRequest) => AsyncIterable<Piece>): UpstreamAnswer {
  return (request) => ({ headers: eventStream, body: body(request) });
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
