import { user } from 'mortise/contracts/agent/testing';
import { type FakeOpenAi, startFakeOpenAi } from 'mortise/contracts/provider-openai/testing';
import { type Frame, SocketClient } from 'mortise/contracts/realtime/testing';
import type { MessagePage, SessionRef } from 'mortise/contracts/sessions';
import type { Database } from 'mortise/sdk';
import { createTestHost, type TestEngine, type TestHost, type TestPlugin } from 'mortise/sdk/testing';

export const apiKey = 'sk-test-key-0123456789abcdef';

export interface ModelPlatform {
  readonly host: TestHost;
  readonly upstream: FakeOpenAi;
  readonly tables: Database;
  /** `POST /agent/process` of session `s1` of `u1`. */
  process(text: string, extra?: object, init?: RequestInit): Promise<Response>;
  connect(): Promise<SocketClient>;
  /** `chat.send` on a separate socket. */
  send(content: string, params?: object): Promise<readonly Frame[]>;
  rows(session?: SessionRef): Promise<MessagePage['messages']>;
  /** Bodies of the requests to the API. */
  asked(): readonly AskedBody[];
  stop(): Promise<void>;
}

interface AskedBody {
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

const socketSession: SessionRef = { channel: 'ws', userId: 'local', sessionId: 'main' };
export const httpSession: SessionRef = { channel: 'console', userId: 'u1', sessionId: 's1' };

/** The platform as shipped, switched to the adapter for chat completions by its environment alone. */
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
  const clients: SocketClient[] = [];
  const connect = async (): Promise<SocketClient> => {
    const client = await SocketClient.open(host.origin);
    clients.push(client);
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
          input: [user(text)],
          ...more,
        }),
      }),
    connect,
    send: async (content, params = {}) => (await connect()).ask('chat.send', { content, ...params }),
    rows: async (session = socketSession) => (await host.service('sessions').display({ session })).messages,
    asked: () => upstream.requests.map(({ body }) => body as AskedBody),
    async stop() {
      for (const { socket } of clients) socket.terminate();
      await host.stop();
      await upstream.stop();
    },
  };
}
