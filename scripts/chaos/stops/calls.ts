/** How a call ended. `refused`: the connection was refused or cut, and no answer came. */
type CallEnd = 'answered' | 'coded-error' | 'refused' | 'silent';

export interface Call {
  readonly id: string;
  readonly kind: CallKind;
  /** The received data, for the report of a silent call. */
  readonly ended: Promise<{ readonly end: CallEnd; readonly seen: string }>;
}

/** An answer as JSON, a turn as a stream, a tool call streamed over a session, and a turn on a socket. */
export const callKinds = ['json', 'stream', 'session-stream', 'socket'] as const;
export type CallKind = (typeof callKinds)[number];

type Seen = { readonly end: CallEnd; readonly seen: string };

/** Starts a call of a kind; `ms` is how long the plugin takes to answer it. */
type StartCall = (id: string, ms: number) => Call;

interface Caller {
  readonly start: Readonly<Record<CallKind, StartCall>>;
  close(): void;
}

/** Opens the MCP session and the socket that calls need, before the server is stopped. */
export async function openCaller(origin: string): Promise<Caller> {
  const session = await openSession(origin);
  const socket = await openSocket(origin);
  const call =
    (kind: CallKind, run: (id: string, ms: number) => Promise<Seen>): StartCall =>
    (id, ms) => ({ id, kind, ended: run(id, ms).catch(broken) });
  return {
    start: {
      json: call('json', (id, ms) => post(`${origin}/mcp`, toolCall(id, ms), {}, judgeRpc)),
      stream: call('stream', (id, ms) => post(`${origin}/agent/process`, turn(id, ms), {}, judgeTurn)),
      'session-stream': call('session-stream', (id, ms) =>
        post(`${origin}/mcp`, toolCall(id, ms, progress(id)), session, judgeRpc),
      ),
      socket: call('socket', (id, ms) => socket.send(id, ms)),
    },
    close: () => socket.close(),
  };
}

function toolCall(id: string, ms: number, meta: object = {}) {
  return { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold', arguments: { id, ms }, ...meta } };
}

/** With a progress token the answer is streamed. */
const progress = (progressToken: string) => ({ _meta: { progressToken } });

function turn(id: string, ms: number) {
  const input = [{ role: 'user', type: 'message', content: [{ type: 'text', text: `${id} ${ms}` }] }];
  return { session_id: id, user_id: 'u1', channel: 'console', stream: true, input };
}

async function post(
  url: string,
  body: object,
  headers: Readonly<Record<string, string>>,
  judge: (text: string) => CallEnd,
): Promise<Seen> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close', ...headers },
    body: JSON.stringify(body),
  });
  let seen = '';
  try {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) seen += decoder.decode(chunk as Uint8Array, { stream: true });
  } catch {
    // Judged by the data received before the connection broke.
  }
  return { end: judge(seen), seen };
}

/** A JSON-RPC response, alone or as the last message of a stream, or the error envelope of the endpoint. */
function judgeRpc(text: string): CallEnd {
  if (/"error":\s*\{|"reason":\s*"/.test(text)) return 'coded-error';
  return /"result":\s*\{/.test(text) ? 'answered' : 'silent';
}

/** The events of a turn, or the error envelope. */
function judgeTurn(text: string): CallEnd {
  if (/"reply":/.test(text)) return 'answered';
  return /"(code|error_code)":\s*"/.test(text) ? 'coded-error' : 'silent';
}

function broken(error: unknown): Seen {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return { end: 'refused', seen: String(cause) };
}

async function openSession(origin: string): Promise<Readonly<Record<string, string>>> {
  const version = '2025-11-25';
  const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: 'chaos', version: '1' } };
  const response = await fetch(`${origin}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
  });
  await response.text();
  return {
    accept: 'application/json, text/event-stream',
    'mcp-session-id': response.headers.get('mcp-session-id') ?? '',
    'mcp-protocol-version': version,
  };
}

interface Frame {
  readonly id?: string;
  readonly type?: string;
  readonly data?: { readonly done?: boolean };
  readonly error?: { readonly code?: string };
}

async function openSocket(origin: string) {
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/ws`);
  const waiting = new Map<string, (seen: Seen) => void>();
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error('The socket could not be opened.'));
  });
  socket.onmessage = ({ data }) => {
    const { id = '', error, data: content } = JSON.parse(String(data)) as Frame;
    if (error?.code !== undefined) waiting.get(id)?.({ end: 'coded-error', seen: String(data) });
    else if (content?.done === true) waiting.get(id)?.({ end: 'answered', seen: String(data) });
  };
  socket.onclose = () => {
    for (const resolve of waiting.values()) resolve({ end: 'silent', seen: 'the socket was closed' });
  };
  return {
    send: (id: string, ms: number) =>
      new Promise<Seen>((resolve) => {
        waiting.set(id, resolve);
        socket.send(JSON.stringify({ id, method: 'chat.send', params: { content: `${id} ${ms}`, session_id: id } }));
      }),
    close: () => socket.close(),
  };
}
