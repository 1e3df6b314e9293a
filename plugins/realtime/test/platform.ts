import type { FakeModel } from 'mortise/contracts/agent/testing';
import { SocketClient } from 'mortise/contracts/realtime/testing';
import type { MessagePage, SessionRef } from 'mortise/contracts/sessions';
import type { Database } from 'mortise/sdk';
import { createTestHost, type TestEngine, type TestHost, type TestHostOptions } from 'mortise/sdk/testing';
import type { ClientOptions } from 'ws';

export const main: SessionRef = { channel: 'ws', userId: 'local', sessionId: 'main' };

type Row = MessagePage['messages'][number];

export interface Platform {
  readonly host: TestHost;
  connect(options?: ClientOptions): Promise<SocketClient>;
  rows(session?: SessionRef): Promise<readonly Row[]>;
  /** The sessions' tables from outside, as a thief or another process would reach them. */
  readonly tables: Database;
  stop(): Promise<void>;
}

export async function openPlatform(
  engine: TestEngine,
  options: TestHostOptions & { readonly model?: FakeModel } = {},
): Promise<Platform> {
  const { model, ...rest } = options;
  const host = await createTestHost({
    plugins: ['realtime', 'agent', 'channel-console', ...(model ? [] : ['provider-demo'])],
    database: engine.env,
    ...rest,
    extra: [...(model ? [model.plugin] : []), ...(rest.extra ?? [])],
  });
  const clients: SocketClient[] = [];
  return {
    host,
    async connect(options) {
      const client = await SocketClient.open(host.origin, options);
      clients.push(client);
      return client;
    },
    tables: host.app.database.forPlugin('probe', ['realtime']),
    rows: async (session = main) => (await host.service('sessions').display({ session }, { limit: 1_000 })).messages,
    async stop() {
      for (const client of clients) client.socket.terminate();
      await host.stop();
    },
  };
}
