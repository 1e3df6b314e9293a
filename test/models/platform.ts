import { once } from 'node:events';
import { type FakeOpenAi, startFakeOpenAi } from 'mortise/contracts/provider-openai/testing';
import type { MessagePage, SessionRef } from 'mortise/contracts/sessions';
import type { Database } from 'mortise/sdk';
import { createTestHost, type TestEngine, type TestHost, type TestPlugin } from 'mortise/sdk/testing';
import { WebSocket } from 'ws';

export const apiKey = 'sk-test-key-0123456789abcdef';

export interface Frame {
  readonly type: string;
  readonly id: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at frames of every kind
  readonly data?: any;
  readonly error?: { readonly code: string; readonly message: string };
}

/** One request of a socket, and what came of it so far. */
export interface Sent {
  readonly id: string;
  readonly frames: readonly Frame[];
  /** All frames, once the last one is there. */
  readonly ended: Promise<readonly Frame[]>;
}

export interface Client {
  readonly socket: WebSocket;
  request(method: string, params: object): Sent;
}

export interface ModelPlatform {
  readonly host: TestHost;
  readonly upstream: FakeOpenAi;
  readonly tables: Database;
  /** `POST /agent/process` of session `s1` of `u1`. */
  process(text: string, extra?: object, init?: RequestInit): Promise<Response>;
  connect(): Promise<Client>;
  /** `chat.send` on a socket of its own. */
  send(content: string, params?: object): Promise<readonly Frame[]>;
  rows(session?: SessionRef): Promise<MessagePage['messages']>;
  /** Bodies of the requests that the API got. */
  asked(): readonly AskedBody[];
  stop(): Promise<void>;
}

export interface AskedBody {
  readonly model: string;
  readonly stream?: boolean;
  readonly messages: readonly {
    readonly role: string;
    readonly content: unknown;
    readonly tool_call_id?: string;
    readonly tool_calls?: readonly { readonly id: string; readonly function: { name: string; arguments: string } }[];
  }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

export const socketSession: SessionRef = { channel: 'ws', userId: 'local', sessionId: 'main' };
export const httpSession: SessionRef = { channel: 'console', userId: 'u1', sessionId: 's1' };

/** The platform as it is shipped, switched to the adapter for chat completions by its environment alone. */
export async function openModelPlatform(
  engine: TestEngine,
  env: Readonly<Record<string, string>> = {},
  extra: readonly TestPlugin[] = [],
): Promise<ModelPlatform> {
  const upstream = await startFakeOpenAi({ apiKey });
  const host = await createTestHost({
    plugins: ['agent', 'realtime', 'channel-console', 'provider-demo', 'provider-openai'],
    database: engine.env,
    env: {
      MORTISE_MODEL: 'openai/gpt-4o-mini',
      OPENAI_API_KEY: apiKey,
      OPENAI_BASE_URL: upstream.baseUrl,
      ...env,
    },
    extra,
  });
  const sockets: WebSocket[] = [];
  const connect = async (): Promise<Client> => {
    const client = await openClient(host.origin);
    sockets.push(client.socket);
    return client;
  };
  return {
    host,
    upstream,
    tables: host.app.database.forPlugin('probe', ['realtime']),
    process: (text, more = {}, init = {}) =>
      host.fetch('/agent/process', {
        ...init,
        method: 'POST',
        headers: { 'content-type': 'application/json', ...init.headers },
        body: JSON.stringify({
          session_id: 's1',
          user_id: 'u1',
          input: [{ role: 'user', type: 'message', content: [{ type: 'text', text }] }],
          ...more,
        }),
      }),
    connect,
    send: async (content, params = {}) => (await connect()).request('chat.send', { content, ...params }).ended,
    rows: async (session = socketSession) => (await host.service('sessions').display({ session })).messages,
    asked: () => upstream.requests.map(({ body }) => body as AskedBody),
    async stop() {
      for (const socket of sockets) socket.terminate();
      await host.stop();
      await upstream.stop();
    },
  };
}

async function openClient(origin: string): Promise<Client> {
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/ws`);
  const frames: Frame[] = [];
  const waiting = new Map<string, () => void>();
  socket.on('message', (text) => {
    const frame = JSON.parse(String(text)) as Frame;
    frames.push(frame);
    if (isLast(frame)) waiting.get(frame.id)?.();
  });
  await once(socket, 'open');
  let next = 0;
  return {
    socket,
    request(method, params) {
      next += 1;
      const id = `r-${next}`;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.set(id, resolve);
      socket.send(JSON.stringify({ type: 'request', id, method, params }));
      const own = () => frames.filter((frame) => frame.id === id);
      return {
        id,
        get frames() {
          return own();
        },
        ended: promise.then(own),
      };
    },
  };
}

function isLast({ type, data }: Frame): boolean {
  return type === 'error' || type === 'response' || data?.done === true;
}

export function kinds(frames: readonly Frame[]): string[] {
  return frames.map(({ type, data, error }) => (data?.done ? 'done' : (error?.code ?? type)));
}

export function chunks(frames: readonly Frame[]): string[] {
  return frames.flatMap(({ type, data }) => (type === 'stream_chunk' && !data.done ? [data.content] : []));
}

/** The events of a stream; the last one is `[DONE]`. */
export async function eventsOf(response: Response): Promise<unknown[]> {
  return (await response.text())
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => (frame === 'data: [DONE]' ? '[DONE]' : JSON.parse(frame.slice(6))));
}

export async function errorOf(response: Response): Promise<{ status: number; code: string; message: string }> {
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  return { status: response.status, ...error };
}
