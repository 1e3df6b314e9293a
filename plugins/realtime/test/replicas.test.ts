import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eachDatabase, type ServerProcess, startServer } from 'mortise/sdk/testing';
import { kinds, SocketClient, textOf, until } from './socket-client.js';

const patient = 60_000;
const ttlSeconds = 1;
const keys = ['sessions', 'conversation', 'agent', 'channel-console', 'realtime', 'slow-model'];
const facts = { capabilities: { stream: true, toolCall: true, attachments: false, reasoning: false } };

/** Says `slow` in many pieces, and anything else at once. */
const slowModel = `export default () => ({
  key: 'slow-model',
  register(host) {
    host.contribute('provider', 'demo', {
      ...host.facts('provider', 'demo'),
      async *generate({ messages }, { signal }) {
        const text = messages.at(-1).content;
        if (text === 'slow') {
          for (let i = 0; i < 600 && !signal.aborted; i += 1) {
            await new Promise((resolve) => setTimeout(resolve, 50));
            yield { type: 'content_delta', text: 'x' };
          }
        }
        yield { type: 'content_delta', text: 'Re: ' + text };
        yield { type: 'done' };
      },
    });
  },
});`;

describe('two processes on one database', () => {
  eachDatabase((engine) => {
    if (engine.dialect !== 'postgres') return;
    const servers: ServerProcess[] = [];
    const folders: string[] = [];
    const clients: SocketClient[] = [];

    afterEach(async function stop() {
      this.timeout(patient);
      for (const client of clients.splice(0)) client.socket.terminate();
      await Promise.all(servers.splice(0).map((server) => server.dispose()));
      await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
    });

    async function start(): Promise<{ server: ServerProcess; client: SocketClient }> {
      const folder = await mkdtemp(join(tmpdir(), 'mortise-realtime-'));
      folders.push(folder);
      const plugin = join(folder, 'plugins', 'slow-model');
      await mkdir(plugin, { recursive: true });
      const manifest = {
        manifestVersion: 1,
        key: 'slow-model',
        version: '0.0.0',
        title: 'Slow model',
        summary: 'Made by a test.',
        entry: 'index.js',
        contributes: { provider: [{ key: 'demo', facts }] },
      };
      await writeFile(join(plugin, 'plugin.json'), JSON.stringify(manifest));
      await writeFile(join(plugin, 'package.json'), '{"type":"module"}');
      await writeFile(join(plugin, 'index.js'), slowModel);
      const server = await startServer({
        folder,
        plugins: { version: 1, plugins: Object.fromEntries(keys.map((key) => [key, { enabled: true }])) },
        database: engine.env,
        env: { MORTISE_SESSION_CLAIM_TTL_SECONDS: String(ttlSeconds) },
      });
      servers.push(server);
      const client = await SocketClient.open(server.origin);
      clients.push(client);
      return { server, client };
    }

    it('serve a session one at a time, cancel each other and push to each other', async () => {
      const [a, b] = [await start(), await start()];
      await b.client.ask('session.watch', {}, 'watch');
      const id = a.client.request('chat.send', { content: 'slow' });
      await until('a chunk', () => a.client.of(id).length > 0);
      expect(kinds(await b.client.ask('chat.send', { content: 'mine' }))).to.deep.equal(['SESSION_BUSY']);
      expect((await b.client.answer('session.list')).sessions[0].busy).to.equal(true);
      expect((await b.client.answer('chat.cancel', { session_id: 'main' })).cancelled).to.equal(true);
      expect((await a.client.end(id)).at(-1)?.data.finish_reason).to.equal('cancelled');
      await a.client.ask('chat.send', { content: 'quick' });
      await until('the push', () => b.client.of('watch').length > 1);
      expect(b.client.of('watch')[1]?.data.content).to.equal('Re: quick');
    }).timeout(patient);

    it('take over from each other when one is killed, and the history is whole', async () => {
      const [a, b] = [await start(), await start()];
      await a.client.ask('chat.send', { content: 'before' });
      const id = a.client.request('chat.send', { content: 'slow' });
      await until('a chunk', () => a.client.of(id).length > 0);
      await a.server.end('SIGKILL');
      const killed = performance.now();
      let frames = await b.client.ask('chat.send', { content: 'after' });
      while (frames[0]?.error?.code === 'SESSION_BUSY') frames = await b.client.ask('chat.send', { content: 'after' });
      expect(performance.now() - killed).to.be.below(ttlSeconds * 1_000 + 1_500);
      expect(textOf(frames)).to.equal('Re: after');
      const { messages } = await b.client.answer('chat.history', { detail: true });
      expect(messages.map((m: { seq: number; content: string }) => [m.seq, m.content])).to.deep.equal([
        [0, 'before'],
        [1, 'Re: before'],
        [2, 'slow'],
        [3, 'after'],
        [4, 'Re: after'],
      ]);
    }).timeout(patient);
  });
});
