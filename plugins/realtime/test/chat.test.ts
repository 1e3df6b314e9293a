import { expect } from 'chai';
import { asksFor, echoTool, fakeModel, inTurn, says, slowly } from 'mortise/contracts/agent/testing';
import { chunks, kinds, type SocketClient, textOf } from 'mortise/contracts/realtime/testing';
import { eachDatabase, until } from 'mortise/sdk/testing';
import { openPlatform, type Platform } from './platform.js';

describe('chatting over the socket', () => {
  eachDatabase((engine) => {
    let platform: Platform;

    afterEach(async function stop() {
      await platform?.stop();
    });

    async function start(options: Parameters<typeof openPlatform>[1]): Promise<SocketClient> {
      platform = await openPlatform(engine, options);
      return platform.connect();
    }

    it('streams the model’s answer and stores it', async () => {
      const client = await start({ model: fakeModel(() => says('Hello ', 'world!')) });
      const frames = await client.ask('chat.send', { content: 'hi' });
      expect(frames).to.deep.equal([
        { type: 'stream_chunk', id: 'r-1', data: { content: 'Hello ', done: false } },
        { type: 'stream_chunk', id: 'r-1', data: { content: 'world!', done: false } },
        { type: 'stream_chunk', id: 'r-1', data: { content: '', done: true } },
      ]);
      const rows = await platform.rows();
      expect(rows.map(({ role, seq, content }) => [role, seq, content])).to.deep.equal([
        ['user', 0, 'hi'],
        ['assistant', 1, 'Hello world!'],
      ]);
    });

    it('answers without anything configured', async () => {
      const client = await start({});
      expect(chunks(await client.ask('chat.send', { content: 'hi' }))).to.deep.equal(['Echo: hi']);
    });

    it('accepts the attachments and parameters of the HTTP endpoint', async () => {
      const model = fakeModel(
        (_, call) => (call === 1 ? says('a cat') : asksFor([['call_1', 'echo', `{"text":"${call}"}`]])),
        { attachments: true },
      );
      const client = await start({ model, extra: [echoTool] });
      const image = { type: 'image', url: 'https://example.org/cat.png' };
      const message = { content: 'what is it?', attachments: [image], biz_params: { request_id: 'once' } };
      expect(chunks(await client.ask('chat.send', message))).to.deep.equal(['a cat']);
      const sent = model.requests[0]?.messages.filter(({ role }) => role === 'user') ?? [];
      expect(sent.map(({ content }) => content)).to.deep.equal([[{ type: 'text', text: 'what is it?' }, image]]);
      expect((await client.ask('chat.send', message)).at(-1)?.data).to.include({ done: true, replayed: true });
      const limited = await client.ask('chat.send', { content: 'go', biz_params: { max_steps: 2 } });
      expect(kinds(limited)).to.deep.equal(['tool_call', 'tool_call', 'stream_chunk', 'done']);
      expect(model.requests).to.have.length(3);
      expect((await platform.rows()).at(-1)?.status).to.equal('limit');
    });

    it('asks without tools when there are none', async () => {
      const model = fakeModel(() => says('ok'));
      const client = await start({ model });
      await client.ask('chat.send', { content: 'hi' });
      expect(Object.keys(model.requests[0] ?? {})).to.not.include('tools');
    });

    it('returns the history with the id of the request', async () => {
      const client = await start({ model: fakeModel(() => says('there')) });
      await client.ask('chat.send', { content: 'hi' });
      const [frame] = await client.ask('chat.history', {}, 'hist-1');
      expect(frame?.type).to.equal('response');
      const messages = frame?.data.messages ?? [];
      expect(messages.map(Object.keys)).to.deep.equal([
        ['role', 'content', 'timestamp'],
        ['role', 'content', 'timestamp'],
      ]);
      expect(messages.map(({ content }) => content)).to.deep.equal(['hi', 'there']);
      expect(messages[0]?.timestamp).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect((await client.answer('chat.history', { limit: 1 })).messages[0]?.content).to.equal('there');
      expect((await client.answer('chat.history', { before_seq: 1 })).messages[0]?.content).to.equal('hi');
    });

    it('shows the calls of a turn in the detailed history, and reads past rows that are not shown', async () => {
      const model = fakeModel(
        inTurn(
          () => asksFor([['call_1', 'echo', '{"text":"a"}']]),
          () => asksFor([['call_2', 'nothing', '{}']]),
          () => says('ready'),
        ),
      );
      const client = await start({ model, extra: [echoTool] });
      await client.ask('chat.send', { content: 'go' });
      const { messages } = await client.answer('chat.history', { detail: true });
      expect(messages.map((message) => message.tool_calls)).to.deep.equal([
        [],
        [{ call_id: 'call_1', tool_name: 'echo', arguments: { text: 'a' }, ok: true }],
        [{ call_id: 'call_2', tool_name: 'nothing', arguments: {}, ok: false }],
        [],
      ]);
      expect(Object.keys(messages[0] ?? {})).to.have.members([
        'role',
        'content',
        'timestamp',
        'id',
        'seq',
        'status',
        'turn_id',
        'tool_calls',
      ]);
      const two = await client.answer('chat.history', { limit: 2 });
      expect(two.messages.map(({ content }) => content)).to.deep.equal(['go', 'ready']);
    });

    it('answers the history while a turn streams', async () => {
      let answered: () => void = () => undefined;
      const held = new Promise<void>((resolve) => {
        answered = resolve;
      });
      const model = fakeModel(async function* () {
        yield { type: 'content_delta', text: 'x' };
        // The stream goes on only after the history has come: an answer that waited for it would never come.
        await held;
        yield* says('y');
      });
      const client = await start({ model });
      const id = client.request('chat.send', { content: 'hi' });
      await until('the first chunk', () => client.of(id).length > 0);
      const { messages } = await client.answer('chat.history');
      expect(messages.map(({ content }) => content)).to.deep.equal(['hi']);
      expect(client.of(id).some(({ data }) => data.done)).to.equal(false);
      answered();
      expect(textOf(await client.end(id))).to.equal('xy');
    });

    it('streams two sessions on one socket at the same time, each in order', async () => {
      const both = Promise.withResolvers<void>();
      const model = fakeModel(async function* ({ messages }) {
        const name = String(messages.at(-1)?.content);
        for (let i = 0; i < 10; i += 1) {
          if (i === 5 && model.requests.length === 2) both.resolve();
          // Each stream goes on when the other one has begun.
          if (i === 5) await both.promise;
          yield { type: 'content_delta', text: `${name}${i} ` };
        }
        yield { type: 'done' };
      });
      const client = await start({ model });
      const ids = ['a', 'b'].map((name) => client.request('chat.send', { content: name, session_id: name }));
      await Promise.all(ids.map((id) => client.end(id)));
      const order = client.frames.map(({ id }) => id);
      expect(order.lastIndexOf(ids[0] ?? '')).to.be.above(order.indexOf(ids[1] ?? ''));
      expect(order.lastIndexOf(ids[1] ?? '')).to.be.above(order.indexOf(ids[0] ?? ''));
      for (const [index, name] of ['a', 'b'].entries()) {
        expect(chunks(client.of(ids[index] ?? ''))).to.deep.equal(Array.from({ length: 10 }, (_, i) => `${name}${i} `));
      }
    });

    it('refuses the second of two messages for one session at once, and asks the model once', async () => {
      const held = Promise.withResolvers<void>();
      const model = fakeModel(async function* () {
        await held.promise;
        yield* says('done');
      });
      const client = await start({ model });
      const other = await platform.connect();
      const first = client.request('chat.send', { content: 'one' });
      const second = client.request('chat.send', { content: 'two' });
      const [busy] = await client.end(second);
      expect(busy?.error?.code).to.equal('SESSION_BUSY');
      expect(busy?.error?.message).to.equal('Session is being processed by another request. Please try again.');
      expect(kinds(await other.ask('chat.send', { content: 'three' }))).to.deep.equal(['SESSION_BUSY']);
      held.resolve();
      await client.end(first);
      expect(model.requests).to.have.length(1);
      expect((await platform.rows()).map(({ content }) => content)).to.deep.equal(['one', 'done']);
    });

    it('accepts a message that reacts to the end of a turn', async () => {
      const model = fakeModel(() => says('ok'));
      const client = await start({ model });
      const other = await platform.connect();
      for (let round = 0; round < 100; round += 1) {
        const sender = round % 2 === 0 ? client : other;
        expect(kinds(await sender.ask('chat.send', { content: `n ${round}` }))).to.deep.equal(['stream_chunk', 'done']);
      }
    });

    it('ends a cancelled turn, stores the text so far, and frees the session', async () => {
      const model = fakeModel((_, call, signal) =>
        call === 1 ? slowly(50, Array(200).fill('x'), signal) : says('ok'),
      );
      const client = await start({ model });
      const id = client.request('chat.send', { content: 'hi' });
      await until('the first chunk', () => client.of(id).length > 0);
      expect(await client.answer('chat.cancel', { request_id: id })).to.deep.equal({ cancelled: true, request_id: id });
      const last = client.of(id).at(-1);
      expect(last?.data).to.deep.equal({ content: '', done: true, finish_reason: 'cancelled' });
      const [, answer] = await platform.rows();
      expect([answer?.status, answer?.content]).to.deep.equal(['cancelled', chunks(client.of(id)).join('')]);
      expect(model.signals[0]?.aborted).to.equal(true);
      expect(kinds(await client.ask('chat.send', { content: 'more' }))).to.deep.equal(['stream_chunk', 'done']);
    });

    it('cancels by session, also turns of other sockets and entry points, and reports when there was none', async () => {
      const model = fakeModel((_, __, signal) => slowly(50, Array(200).fill('x'), signal));
      const client = await start({ model });
      const other = await platform.connect();
      const id = client.request('chat.send', { content: 'hi' });
      await until('the first chunk', () => client.of(id).length > 0);
      expect(await other.answer('chat.cancel', { request_id: id })).to.deep.equal({ cancelled: false, request_id: id });
      expect(await other.answer('chat.cancel', { session_id: 'main' })).to.deep.equal({
        cancelled: true,
        request_id: id,
      });
      expect(await other.answer('chat.cancel', { session_id: 'main' })).to.deep.equal({
        cancelled: false,
        request_id: null,
      });
      const posted = platform.host.post('/agent/process', {
        session_id: 's1',
        user_id: 'u1',
        channel: 'console',
        input: [{ role: 'user', type: 'message', content: [{ type: 'text', text: 'hi' }] }],
      });
      await until('the turn', () => model.requests.length === 2);
      const where = { session_id: 's1', user_id: 'u1', channel: 'console' };
      expect(await other.answer('chat.cancel', where)).to.deep.equal({ cancelled: true, request_id: null });
      expect((await posted).status).to.equal(409);
    });
  });
});
