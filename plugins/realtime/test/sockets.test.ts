import { once } from 'node:events';
import { expect } from 'chai';
import { fakeModel, says, slowly } from 'mortise/contracts/agent/testing';
import { kinds, SocketClient, textOf } from 'mortise/contracts/realtime/testing';
import { eachDatabase, localPrincipal, until } from 'mortise/sdk/testing';
import { openPlatform, type Platform } from './platform.js';

const apiKey = 'an-api-key-0123456789';
const keyed = { MORTISE_API_KEY: apiKey };

describe('sockets', () => {
  eachDatabase((engine) => {
    let platform: Platform;

    afterEach(async function stop() {
      await platform?.stop();
    });

    /** The status that an upgrade was refused with. */
    async function refused(options: ConstructorParameters<typeof SocketClient>[1]): Promise<number | undefined> {
      const client = new SocketClient(platform.host.origin, options);
      const [, response] = (await once(client.socket, 'unexpected-response')) as [unknown, { statusCode?: number }];
      client.socket.terminate();
      return response.statusCode;
    }

    it('are opened only from allowed origins and with valid keys', async () => {
      platform = await openPlatform(engine, { env: keyed });
      expect(await refused({ headers: { origin: 'https://evil.example' } })).to.equal(403);
      expect(await refused({ headers: { 'x-api-key': 'wrong' } })).to.equal(401);
      expect((await platform.host.fetch('/ws')).status).to.equal(426);
      for (const [name, value] of [
        ['x-api-key', apiKey],
        ['authorization', `Bearer ${apiKey}`],
      ] as const) {
        const client = await platform.connect({ headers: { [name]: value } });
        expect((await client.answer('chat.history')).messages).to.deep.equal([]);
      }
    });

    /** Refusals that are audited from now on. */
    function refusals(): string[] {
      const reasons: string[] = [];
      platform.host.app.kernel.events.on('refusal', ({ reason, target }) => reasons.push(`${target} ${reason}`));
      return reasons;
    }

    it('without a key in their headers authenticate with the first frame', async () => {
      platform = await openPlatform(engine, { env: keyed });
      const audited = refusals();
      const client = await platform.connect();
      expect(await client.answer('auth', { api_key: apiKey })).to.deep.equal({ ok: true });
      expect(textOf(await client.ask('chat.send', { content: 'hi' }))).to.equal('Echo: hi');
      for (const [frame, code] of [
        ['{"id":"1","method":"chat.history"}', 'AUTH_REQUIRED'],
        ['nonsense', 'AUTH_REQUIRED'],
        [`{"id":"1","method":"auth","params":{"api_key":"${'x'.repeat(5_000)}"}}`, 'AUTH_REQUIRED'],
        ['{"id":"1","method":"auth"}', 'AUTH_REQUIRED'],
        ['{"id":"1","method":"auth","params":{"api_key":"wrong"}}', 'AUTH_FAILED'],
      ] as const) {
        const other = await platform.connect();
        other.raw(frame);
        other.raw('{"id":"2","method":"chat.history"}');
        await until('the end', () => other.closed !== undefined);
        expect([kinds(other.frames), other.closed?.code]).to.deep.equal([[code], 4001]);
        expect(audited.splice(0)).to.deep.equal(['/ws auth_failed']);
      }
    });

    it('are closed when the peer does not authenticate in time', async () => {
      platform = await openPlatform(engine, { env: { ...keyed, MORTISE_WS_AUTH_SECONDS: '0.2' } });
      const audited = refusals();
      const late = await platform.connect();
      await until('the end', () => late.closed !== undefined);
      expect([kinds(late.frames), late.closed?.code]).to.deep.equal([['AUTH_TIMEOUT'], 4001]);
      expect(audited).to.deep.equal(['/ws auth_failed']);
    });

    it('are answered that there were too many attempts after five failures, unless their key is good', async () => {
      platform = await openPlatform(engine, { env: keyed });
      const audited = refusals();
      const waiting = await platform.connect();
      for (let attempt = 1; attempt <= 5; attempt += 1) {
        const client = await platform.connect();
        expect(kinds(await client.ask('auth', { api_key: 'wrong' }))).to.deep.equal(['AUTH_FAILED']);
      }
      expect(kinds(await waiting.ask('auth', { api_key: 'wrong' }))).to.have.members(['AUTH_RATE_LIMITED']);
      expect(await refused({ headers: { 'x-api-key': 'wrong' } })).to.equal(429);
      const good = await platform.connect();
      expect(await good.answer('auth', { api_key: apiKey })).to.be.an('object');
      expect(audited).to.deep.equal([...Array(5).fill('/ws auth_failed'), ...Array(2).fill('/ws rate_limited')]);
    });

    it('share the rate limit of their caller with HTTP, and can always cancel', async () => {
      platform = await openPlatform(engine, { env: { MORTISE_RATE_LIMIT: '2/600' } });
      const client = await platform.connect();
      await client.answer('chat.history');
      expect((await platform.host.fetch('/chats')).status).to.equal(200);
      const audited = refusals();
      const [limited] = await client.ask('chat.send', { content: 'one too many' });
      expect(limited?.error).to.include({ code: 'RATE_LIMITED', message: 'Too many requests' });
      expect(limited?.error?.details?.retry_after_ms).to.be.a('number');
      expect((await platform.host.fetch('/chats')).status).to.equal(429);
      expect(audited).to.deep.equal(['/ws rate_limited', '/chats rate_limited']);
      expect((await client.answer('chat.cancel', { session_id: 'main' })).cancelled).to.equal(false);
    });

    it('receive replies that others requested in watched sessions, and not their own', async () => {
      platform = await openPlatform(engine, {});
      const [asker, watcher, other] = [await platform.connect(), await platform.connect(), await platform.connect()];
      for (const client of [asker, watcher]) {
        expect(await client.ask('session.watch', { session_id: 's' }, 'watch')).to.have.length(1);
      }
      await other.ask('session.watch', { session_id: 'another' }, 'watch');
      await asker.ask('chat.send', { content: 'hi', session_id: 's' });
      await until('the push', () => watcher.of('watch').length > 1);
      const { obs_id: obsId, trace_id: traceId, ...data } = { ...watcher.of('watch')[1]?.data };
      expect(data).to.deep.equal({ kind: 'message', session_id: 's', role: 'assistant', content: 'Echo: hi' });
      expect([obsId, traceId].every((id) => /^[0-9a-f]{32}$/.test(String(id)))).to.equal(true);
      expect(await watcher.answer('session.unwatch', { session_id: 's' })).to.deep.equal({ watching: false });
      await other.ask('chat.send', { content: 'you', session_id: 's' });
      await until('the second push', () => asker.of('watch').length > 1);
      expect(asker.of('watch')[1]?.data.content).to.equal('Echo: hi you');
      expect([watcher.of('watch').length, other.of('watch').length]).to.deep.equal([2, 1]);
    });

    it('receive replies to HTTP requests too', async () => {
      platform = await openPlatform(engine, {});
      const client = await platform.connect();
      await client.ask('session.watch', { session_id: 's1', user_id: 'u1', channel: 'console' }, 'watch');
      await platform.host.post('/agent/process', {
        session_id: 's1',
        user_id: 'u1',
        channel: 'console',
        input: [{ role: 'user', type: 'message', content: [{ type: 'text', text: 'hi' }] }],
      });
      await until('the push', () => client.of('watch').length > 1);
      expect(client.of('watch')[1]?.data.content).to.equal('Echo: hi');
    });

    it('receive messages of an agent without a turn, through the egress adapter of that name', async () => {
      platform = await openPlatform(engine, {});
      const client = await platform.connect();
      await client.ask('session.watch', { session_id: 's' }, 'watch');
      const conversation = platform.host.service('conversation');
      const said = conversation.publish(
        {
          source_name: 'agent:speaker',
          source_kind: 'internal',
          ingress: 'internal',
          session_key: 'ws:local:s',
          actor: { actor_type: 'system', actor_id: 'agent' },
          payload: { text: 'by the way' },
        },
        { principal: localPrincipal },
      );
      expect(said.ok).to.equal(true);
      await until('the push', () => client.of('watch').length > 1);
      expect(client.of('watch')[1]?.data.content).to.equal('by the way');
      await until('the count', () =>
        conversation.egress().some(({ adapter, sent }) => adapter === 'socket' && sent === 1),
      );
    });

    it('are disconnected when they do not answer a ping', async () => {
      platform = await openPlatform(engine, { env: { MORTISE_WS_PING_SECONDS: '1.5' } });
      const alive = await platform.connect();
      const silent = await platform.connect({ autoPong: false });
      await until('the end of the silent socket', () => silent.closed !== undefined);
      expect(silent.closed?.code).to.equal(1006);
      expect((await alive.answer('chat.history')).messages).to.deep.equal([]);
    });

    it('are closed when they read nothing, and their turns end', async () => {
      const big = 'x'.repeat(512 * 1024);
      const model = fakeModel((_, __, signal) => slowly(2, Array(2_000).fill(big), signal));
      platform = await openPlatform(engine, { model, env: { MORTISE_WS_SLOW_READER_SECONDS: '0.5' } });
      const client = await platform.connect();
      const other = await platform.connect();
      const id = client.request('chat.send', { content: 'hi' });
      await until('a chunk', () => client.of(id).length > 0);
      client.socket.pause();
      await until('the aborted model', () => model.signals[0]?.aborted === true, 20_000);
      client.socket.resume();
      await until('the end', () => client.closed !== undefined);
      expect(client.closed?.code).to.equal(1013);
      await until('the end of the turn', async () => (await platform.rows()).at(-1)?.turnStatus === 'interrupted');
      expect((await other.answer('session.list')).sessions[0]?.busy).to.equal(false);
    });

    it('close at shutdown: idle ones at once, the others when their turn has ended or time is up', async () => {
      const model = fakeModel(({ messages }, _, signal) =>
        messages.at(-1)?.content === 'long'
          ? slowly(50, Array(400).fill('x'), signal)
          : slowly(100, ['almost ', 'ready'], signal),
      );
      platform = await openPlatform(engine, { model });
      const [idle, short, long] = [await platform.connect(), await platform.connect(), await platform.connect()];
      const ids = [
        short.request('chat.send', { content: 'short', session_id: 'a' }),
        long.request('chat.send', { content: 'long', session_id: 'b' }),
      ];
      await until('both turns', () => model.requests.length === 2 && long.frames.length > 0);
      const stopped = platform.host.stop();
      await until('the idle one to close', () => idle.closed !== undefined);
      expect(kinds(await long.ask('chat.history'))).to.deep.equal(['SERVER_SHUTTING_DOWN']);
      await stopped;
      await until('all to close', () => short.closed !== undefined && long.closed !== undefined);
      expect([idle.closed?.code, short.closed?.code, long.closed?.code]).to.deep.equal([1001, 1001, 1001]);
      expect(kinds(short.of(ids[0] ?? ''))).to.deep.equal(['stream_chunk', 'stream_chunk', 'done']);
      expect(kinds(long.of(ids[1] ?? '')).at(-1)).to.equal('SERVER_SHUTTING_DOWN');
    });

    it('restrict a bound key to its user', async () => {
      const keys = JSON.stringify([{ id: 'ann', key: 'anns-own-key-0123456789', actor: 'ann' }]);
      platform = await openPlatform(engine, { env: { MORTISE_API_KEYS: keys } });
      const client = await platform.connect({ headers: { 'x-api-key': 'anns-own-key-0123456789' } });
      expect(kinds(await client.ask('chat.history', { user_id: 'bob' }))).to.deep.equal(['ACTOR_MISMATCH']);
      expect(kinds(await client.ask('chat.send', { content: 'x', user_id: 'bob' }))).to.deep.equal(['ACTOR_MISMATCH']);
      expect(textOf(await client.ask('chat.send', { content: 'hi' }))).to.equal('Echo: hi');
      expect((await platform.rows({ channel: 'ws', userId: 'ann', sessionId: 'main' })).length).to.equal(2);
    });

    it('carry many streams at once without loss, duplicates or reordering', async () => {
      const model = fakeModel(async function* ({ messages }) {
        const name = String(messages.at(-1)?.content);
        for (let i = 0; i < 100; i += 1) {
          if (i % 7 === name.length % 7) await new Promise((resolve) => setImmediate(resolve));
          yield { type: 'content_delta', text: `${name}:${i};` };
        }
        yield { type: 'done' };
      });
      platform = await openPlatform(engine, { model, env: { MORTISE_MAX_CONCURRENT_TURNS: '64' } });
      const clients = await Promise.all(Array.from({ length: 20 }, () => platform.connect()));
      const asked = clients.flatMap((client, c) =>
        Array.from({ length: 10 }, (_, s) => {
          const name = `${'n'.repeat(s)}${c}-${s}`;
          return { client, name, id: client.request('chat.send', { content: name, session_id: name }) };
        }),
      );
      await Promise.all(asked.map(({ client, id }) => client.end(id, 60_000)));
      for (const { client, name, id } of asked) {
        const whole = Array.from({ length: 100 }, (_, i) => `${name}:${i};`).join('');
        expect(client.of(id).flatMap(({ error }) => (error ? [error] : []))).to.deep.equal([]);
        expect(textOf(client.of(id))).to.equal(whole);
        expect(client.of(id).filter(({ data }) => data.done)).to.have.length(1);
      }
      const rows = await platform.rows({ channel: 'ws', userId: 'local', sessionId: asked[7]?.name ?? '' });
      expect(rows.map(({ content }) => content)).to.deep.equal([
        asked[7]?.name,
        textOf(asked[7]?.client.of(asked[7].id) ?? []),
      ]);
    }).timeout(90_000);
  });

  it('serve all other methods without an agent', async () => {
    const [engine] = [{ env: {} } as Parameters<typeof openPlatform>[0]];
    const platform = await openPlatform(engine, { plugins: ['realtime'], model: fakeModel(() => says()) });
    try {
      const client = await platform.connect();
      expect(kinds(await client.ask('chat.send', { content: 'hi' }))).to.deep.equal(['PLUGIN_UNAVAILABLE']);
      expect((await client.answer('chat.history')).messages).to.deep.equal([]);
    } finally {
      await platform.stop();
    }
  });
});
