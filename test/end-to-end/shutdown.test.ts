import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eachDatabase, type ServerProcess, startServer, temporaryFolder, until } from 'mortise/sdk/testing';
import { WebSocket } from 'ws';

const keys = [
  'logbook',
  'sessions',
  'conversation',
  'models',
  'agent',
  'admin',
  'channel-console',
  'realtime',
  'held-model',
];
const facts = { capabilities: { stream: true, toolCall: false, attachments: false, reasoning: false } };

/** Sends one piece immediately and the rest once the file `go` exists; never the rest of `hang`. */
const heldModel = (folder: string) => `import { access } from 'node:fs/promises';
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export default () => ({
  key: 'held-model',
  register(host) {
    host.contribute('provider', 'demo', {
      ...host.facts('provider', 'demo'),
      async *generate({ messages }, { signal }) {
        const text = messages.at(-1).content;
        yield { type: 'content_delta', text: 'Re: ' };
        const there = () => access(${JSON.stringify(join(folder, 'go'))}).then(() => true, () => false);
        while (text === 'hang' || !(await there())) {
          if (signal.aborted) throw signal.reason;
          await pause(10);
        }
        yield { type: 'content_delta', text };
        yield { type: 'done' };
      },
    });
  },
});`;

interface Frame {
  readonly id: string;
  readonly type: string;
  readonly data?: { readonly content: string; readonly done: boolean };
  readonly error?: { readonly code: string };
}

describe('a server that is stopped', function () {
  this.timeout(90_000);

  eachDatabase((engine) => {
    let folder: string;
    let server: ServerProcess;
    const sockets: WebSocket[] = [];

    beforeEach(async () => {
      folder = temporaryFolder('shutdown');
      const plugin = join(folder, 'plugins', 'held-model');
      await mkdir(plugin, { recursive: true });
      const manifest = {
        manifestVersion: 1,
        key: 'held-model',
        version: '0.0.0',
        title: 'Held model',
        summary: 'Made by a test.',
        entry: 'index.js',
        contributes: { provider: [{ key: 'demo', facts }] },
      };
      await writeFile(join(plugin, 'plugin.json'), JSON.stringify(manifest));
      await writeFile(join(plugin, 'package.json'), '{"type":"module"}');
      await writeFile(join(plugin, 'index.js'), heldModel(folder));
    });

    afterEach(async () => {
      for (const socket of sockets.splice(0)) socket.terminate();
      await server?.dispose();
    });

    async function start(env: Record<string, string> = {}): Promise<void> {
      const plugins = { version: 1, plugins: Object.fromEntries(keys.map((key) => [key, { enabled: true }])) };
      server = await startServer({ folder, plugins, database: engine.env, env });
    }

    const ask = (session: string, text: string, stream = false): Promise<Response> =>
      server.post('/agent/process', {
        session_id: session,
        user_id: 'u1',
        channel: 'console',
        stream,
        input: [{ role: 'user', type: 'message', content: [{ type: 'text', text }] }],
      });

    /** Accepted turns that have not ended, running or queued: each occupies a handler. */
    async function accepted(): Promise<number> {
      const metrics = await (await server.fetch('/metrics')).text();
      return Number(/^mortise_point_inflight\{[^}]*observation-handler[^}]*\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
    }

    async function socket(): Promise<{ readonly socket: WebSocket; readonly frames: Frame[] }> {
      const opened = new WebSocket(`${server.origin.replace('http', 'ws')}/ws`);
      sockets.push(opened);
      const frames: Frame[] = [];
      opened.on('message', (text) => frames.push(JSON.parse(String(text)) as Frame));
      opened.on('error', () => undefined);
      await once(opened, 'open');
      return { socket: opened, frames };
    }

    /** The messages of a session, read after a restart. */
    async function messagesOf(session: string): Promise<readonly (readonly [role: string, text: string])[]> {
      const chats = (await (await server.fetch('/chats')).json()) as { id: string; session_id: string }[];
      const id = chats.find((chat) => chat.session_id === session)?.id;
      const answer = await server.fetch(`/chats/${id}?include_failed=true`);
      const { messages } = (await answer.json()) as { messages: { role: string; content: { text: string }[] }[] };
      return messages.map(({ role, content }) => [role, content.map(({ text }) => text).join('')] as const);
    }

    it('answers and stores all accepted requests, running and queued', async () => {
      await start();
      const sessions = ['a', 'b', 'c', 'd'];
      const texts = (session: string): string[] => Array.from({ length: 5 }, (_, n) => `${session}${n}`);
      const answers: Promise<Response>[] = [];
      // Sequential within a session, so that the order is known.
      for (const [n, count] of texts('').entries()) {
        answers.push(...sessions.map((session) => ask(session, `${session}${count}`, n % 2 === 1)));
        await until('the requests to be accepted', async () => (await accepted()) === answers.length);
      }
      const { socket: client, frames } = await socket();
      for (const id of ['s0', 's1']) {
        client.send(JSON.stringify({ id, method: 'chat.send', params: { content: id, session_id: id } }));
      }
      await until('the socket to be accepted', async () => (await accepted()) === answers.length + 2);

      const ended = server.end('SIGTERM');
      await until('the refusal of new connections', () =>
        server.fetch('/healthz').then(
          () => false,
          () => true,
        ),
      );
      client.send(JSON.stringify({ id: 'late', method: 'chat.send', params: { content: 'late' } }));
      await until('the refusal of new requests', () => frames.some(({ id }) => id === 'late'));
      expect(frames.find(({ id }) => id === 'late')?.error?.code).to.equal('SERVER_SHUTTING_DOWN');
      await writeFile(join(folder, 'go'), '');

      const replies = await Promise.all(answers.map(async (answer) => (await answer).text()));
      for (const [index, reply] of replies.entries()) {
        const text = `${sessions[index % 4]}${Math.floor(index / 4)}`;
        expect(reply, text).to.include(`"reply":"Re: ${text}"`);
      }
      expect(await ended).to.equal(0);
      const done = frames.filter(({ type, data }) => type === 'stream_chunk' && data?.done).map(({ id }) => id);
      expect(done).to.have.members(['s0', 's1']);

      await start();
      for (const session of sessions) {
        const expected = texts(session).flatMap((text) => [
          ['user', text],
          ['assistant', `Re: ${text}`],
        ]);
        expect(await messagesOf(session)).to.deep.equal(expected);
      }
      for (const id of ['s0', 's1']) expect((await messagesOf(id))[1]).to.deep.equal(['assistant', `Re: ${id}`]);
    });

    it('reports turns that exceed its limit, stores the output they have shown, and exits in time (A67)', async () => {
      await start({ MORTISE_HTTP_SHUTDOWN_TIMEOUT_SECONDS: '2' });
      const streaming = ask('a', 'hang', true);
      const waiting = ask('b', 'hang');
      const { socket: client, frames } = await socket();
      client.send(JSON.stringify({ id: 's0', method: 'chat.send', params: { content: 'hang', session_id: 's0' } }));
      await until('the turns', async () => (await accepted()) === 3 && frames.length > 0);
      const queued = ask('a', 'behind it');
      await until('the queued one', async () => (await accepted()) === 4);
      // These two are not awaited.
      const event = (text: string) =>
        server.post('/observations', { source_name: 'shop', session_key: 'console:u1:o', payload: { text } });
      const ids: string[] = [];
      for (const text of ['hang', 'behind'])
        ids.push(((await (await event(text)).json()) as { obs_id: string }).obs_id);
      await until('the events', async () => (await accepted()) === 6);

      const from = Date.now();
      expect(await server.end('SIGTERM')).to.equal(0);
      // The limit, plus the time that a loaded machine takes to end a process.
      expect(Date.now() - from).to.be.within(1_000, 15_000);
      const events = (await (await streaming).text()).split('\n\n').filter((frame) => frame.startsWith('data: '));
      expect(events.at(-1)).to.equal('data: [DONE]');
      expect(JSON.parse(events.at(-2)?.slice(6) ?? '')).to.deep.include({ type: 'error' });
      expect(JSON.parse(events.at(-2)?.slice(6) ?? '').meta.code).to.equal('server_shutdown');
      for (const answer of [await waiting, await queued]) {
        expect(answer.status).to.equal(503);
        expect(((await answer.json()) as { error: { code: string } }).error.code).to.equal('server_shutdown');
      }
      expect(frames.at(-1)?.error?.code).to.equal('SERVER_SHUTTING_DOWN');
      const lines = server
        .output()
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(lines.filter(({ msg }) => msg === 'shutdown_degraded')).to.have.length(1);
      expect(lines.filter(({ level }) => level === 'error')).to.deep.equal([]);
      expect(lines.find(({ obs_ids }) => obs_ids)).to.deep.include({
        obs_ids: [ids[1]],
        interrupted_obs_ids: [ids[0]],
      });

      await start();
      for (const session of ['a', 'b', 's0']) {
        expect(await messagesOf(session)).to.deep.equal([
          ['user', 'hang'],
          ['assistant', 'Re: '],
        ]);
        const chats = (await (await server.fetch('/chats')).json()) as { id: string; session_id: string }[];
        const id = chats.find((chat) => chat.session_id === session)?.id;
        const turns = (await (await server.fetch(`/chats/${id}/turns`)).json()) as { status: string }[];
        expect(turns.map(({ status }) => status)).to.deep.equal(['interrupted']);
      }
    });
  });
});
