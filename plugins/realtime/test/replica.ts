import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SocketClient } from 'mortise/contracts/realtime/testing';
import { type ServerProcess, startServer, type TestEngine, temporaryFolder } from 'mortise/sdk/testing';

/** TTL of the replicas' leases. */
const ttlSeconds = 1;

const keys = ['logbook', 'sessions', 'conversation', 'models', 'agent', 'channel-console', 'realtime', 'replica-model'];

/**
 * Says `slow` in many pieces, asks people a question on `ask`, calls a tool that never ends on `tool`, answers on `roles`
 * what it was sent, and repeats anything else at once.
 */
const model = `let emit;
export default () => ({
  key: 'replica-model',
  start(host) {
    emit = host.emit.bind(host);
  },
  register(host) {
    host.contribute('tool', 'endless', {
      ...host.facts('tool', 'endless'),
      run: () => new Promise(() => undefined),
    });
    host.contribute('provider', 'demo', {
      ...host.facts('provider', 'demo'),
      async *generate({ messages }, { signal }) {
        const text = messages.at(-1).content;
        if (text === 'tool') {
          yield { type: 'content_delta', text: 'Let me see. ' };
          yield { type: 'tool_calls_complete', toolCalls: [{ id: 'call_1', name: 'endless', arguments: '{}' }] };
        } else if (text === 'roles') {
          const shown = messages.map(({ role, content }) => role + (content.includes('INTERRUPTED') ? '!' : ''));
          yield { type: 'content_delta', text: shown.join(' ') };
        } else {
          for (let i = 0; text === 'slow' && i < 600 && !signal.aborted; i += 1) {
            await new Promise((resolve) => setTimeout(resolve, 50));
            yield { type: 'content_delta', text: 'x' };
          }
          if (text.startsWith('ask')) {
            const facts = { sessionKey: 'ws:local:main', turnId: 'turn-1', requestId: 'q-1', state: 'pending' };
            emit('input-request', { ...facts, questions: [{ id: 'a', header: 'Way', question: text }] });
          }
          yield { type: 'content_delta', text: 'Re: ' + text };
        }
        yield { type: 'done' };
      },
    });
  },
});`;

const manifest = {
  manifestVersion: 1,
  key: 'replica-model',
  version: '0.0.0',
  title: 'Replica model',
  summary: 'Made by a test.',
  entry: 'index.js',
  contributes: {
    provider: [
      {
        key: 'demo',
        facts: { capabilities: { stream: true, toolCall: true, attachments: false, reasoning: false } },
      },
    ],
    tool: [{ key: 'endless', facts: { summary: 'Never ends.', audience: ['agent'], inputSchema: { type: 'object' } } }],
  },
};

/** One of several servers on one database, and a socket to it. */
export interface Replica {
  readonly server: ServerProcess;
  readonly client: SocketClient;
  dispose(): Promise<void>;
}

/** Each has folders of its own; what they share is the database alone. */
export async function startReplica(engine: TestEngine, claimSeconds = ttlSeconds): Promise<Replica> {
  const folder = temporaryFolder('replica');
  const plugin = join(folder, 'plugins', 'replica-model');
  await mkdir(plugin, { recursive: true });
  await writeFile(join(plugin, 'plugin.json'), JSON.stringify(manifest));
  await writeFile(join(plugin, 'package.json'), '{"type":"module"}');
  await writeFile(join(plugin, 'index.js'), model);
  const { settings } = engine;
  const server = await startServer({
    folder,
    plugins: { version: 1, plugins: Object.fromEntries(keys.map((key) => [key, { enabled: true }])) },
    database: settings.dialect === 'sqlite' ? { MORTISE_DATABASE_FILE: settings.file } : engine.env,
    env: { MORTISE_SESSION_CLAIM_TTL_SECONDS: String(claimSeconds) },
  });
  const client = await SocketClient.open(server.origin);
  return {
    server,
    client,
    async dispose() {
      client.socket.terminate();
      await server.dispose();
    },
  };
}
