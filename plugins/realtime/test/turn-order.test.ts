import { expect } from 'chai';
import {
  asksFor,
  echoTool,
  fakeGate,
  fakeModel,
  fakeTool,
  inTurn,
  says,
  slowly,
} from 'mortise/contracts/agent/testing';
import { kinds, type SocketClient, textOf } from 'mortise/contracts/realtime/testing';
import { MortiseError, type ToolContext } from 'mortise/sdk';
import { eachDatabase, until } from 'mortise/sdk/testing';
import { openPlatform, type Platform } from './platform.js';

describe('while a turn of the socket runs', () => {
  eachDatabase((engine) => {
    let platform: Platform;

    afterEach(async function stop() {
      await platform?.stop();
    });

    async function start(options: Parameters<typeof openPlatform>[1]): Promise<SocketClient> {
      platform = await openPlatform(engine, options);
      return platform.connect();
    }

    it('readers of the history do not affect the context of its model', async () => {
      const model = fakeModel(
        inTurn(
          () => asksFor([['call_1', 'look', '{}']]),
          () => says('seen'),
        ),
      );
      const look = fakeTool('look', async () => {
        const other = await platform.connect();
        const { messages } = await other.answer('chat.history', { detail: true });
        return { shown: messages.length };
      });
      const client = await start({ model, extra: [look] });
      await client.ask('chat.send', { content: 'go' });
      const sent = model.requests[1]?.messages.filter(({ role }) => role !== 'system') ?? [];
      expect(sent.map(({ role, content }) => [role, content])).to.deep.equal([
        ['user', 'go'],
        ['assistant', ''],
        ['tool', '{"shown":2}'],
      ]);
    });

    it('a second message for its session is refused before the gate', async () => {
      let asked = 0;
      const gate = fakeGate(() => {
        asked += 1;
        return { action: 'deliver', reason: 'test' };
      });
      const model = fakeModel((_, __, signal) => slowly(50, Array(100).fill('x'), signal));
      const client = await start({ model, extra: [gate] });
      const first = client.request('chat.send', { content: 'one' });
      await until('a chunk', () => client.of(first).length > 0);
      expect(kinds(await client.ask('chat.send', { content: 'two' }))).to.deep.equal(['SESSION_BUSY']);
      expect(asked).to.equal(1);
      await client.answer('chat.cancel', { request_id: first });
    });

    it('malformed frames do not affect it', async () => {
      const model = fakeModel((_, __, signal) => slowly(20, ['a', 'b', 'c', 'd'], signal));
      const client = await start({ model });
      const id = client.request('chat.send', { content: 'go' });
      for (const raw of ['not valid json {{{', '[]', '{"id":"x","method":"chat.nonexistent"}', Buffer.from('{}')]) {
        client.raw(raw);
      }
      expect(kinds(await client.end(id))).to.deep.equal([...Array(4).fill('stream_chunk'), 'done']);
      expect(textOf(client.of(id))).to.equal('abcd');
      expect(client.frames.filter(({ type }) => type === 'error')).to.have.length(4);
      expect(client.closed).to.equal(undefined);
    });

    it('a cancel lets no further tool start, and the next turn gets INTERRUPTED for calls that never ran', async () => {
      const started: string[] = [];
      const first = fakeTool('first', async (_, { signal }) => {
        started.push('first');
        client.request('chat.cancel', { session_id: 'main' }, 'cancel');
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        return {};
      });
      const second = fakeTool('second', () => {
        started.push('second');
        return {};
      });
      const calls = () =>
        asksFor([
          ['call_1', 'first', '{}'],
          ['call_2', 'second', '{}'],
        ]);
      const model = fakeModel(inTurn(calls, () => says('ok')));
      const client = await start({ model, extra: [first, second] });
      const frames = await client.ask('chat.send', { content: 'go' });
      expect(frames.at(-1)?.data).to.include({ done: true, finish_reason: 'cancelled' });
      expect((await client.end('cancel'))[0]?.data.cancelled).to.equal(true);
      expect(started).to.deep.equal(['first']);
      await client.ask('chat.send', { content: 'again' });
      const sent = model.requests[1]?.messages.filter(({ role }) => role === 'tool') ?? [];
      expect(sent.map(({ toolCallId, content }) => [toolCallId, JSON.parse(String(content)).error_code])).to.deep.equal(
        [
          ['call_1', 'INTERRUPTED'],
          ['call_2', 'INTERRUPTED'],
        ],
      );
    });

    it('its tools get the epoch of the session’s claim', async () => {
      const fences: ToolContext['session'][] = [];
      const model = fakeModel((_, call) => (call % 2 === 1 ? asksFor([['call_1', 'fenced', '{}']]) : says('ok')));
      const fenced = fakeTool('fenced', (_, ctx) => {
        fences.push((ctx as ToolContext).session);
        return {};
      });
      const client = await start({ model, extra: [fenced] });
      for (const content of ['one', 'two']) await client.ask('chat.send', { content });
      expect(fences.map((fence) => [fence?.key, fence?.epoch])).to.deep.equal([
        ['ws:local:main', 1],
        ['ws:local:main', 2],
      ]);
    });
  });
});

describe('when a turn of the socket has ended', () => {
  eachDatabase((engine) => {
    let platform: Platform;

    afterEach(async function stop() {
      await platform?.stop();
    });

    it('the session is free for a client that reacts to its error', async () => {
      const model = fakeModel((_, call) => {
        if (call % 2 === 0) return says('ok');
        throw new MortiseError('provider_request_failed', 'gone', { status: 502 });
      });
      platform = await openPlatform(engine, { model });
      const clients = [await platform.connect(), await platform.connect()];
      for (let round = 0; round < 50; round += 1) {
        const [failing, next] = round % 2 === 0 ? clients : clients.toReversed();
        expect(kinds((await failing?.ask('chat.send', { content: 'x' })) ?? [])).to.deep.equal(['LLM_ERROR']);
        expect(kinds((await next?.ask('chat.send', { content: 'y' })) ?? [])).to.deep.equal(['stream_chunk', 'done']);
      }
    });

    it('without an answer, its input stays in the history, but not in the context of the model', async () => {
      const model = fakeModel((_, call) => {
        if (call > 1) return says('ok');
        throw new MortiseError('provider_request_failed', 'gone', { status: 502 });
      });
      platform = await openPlatform(engine, { model });
      const client = await platform.connect();
      for (const content of ['lost', 'answered']) await client.ask('chat.send', { content });
      const { messages } = await client.answer('chat.history');
      expect(messages.map(({ content }) => content)).to.deep.equal(['lost', 'answered', 'ok']);
      const sent = model.requests[1]?.messages.filter(({ role }) => role !== 'system') ?? [];
      expect(sent.map(({ content }) => content)).to.deep.equal(['answered']);
    });

    it('its session is not confused with another, whatever its id looks like', async () => {
      const model = fakeModel(() => says('ok'));
      platform = await openPlatform(engine, { model, extra: [echoTool] });
      const client = await platform.connect();
      const posing = { session_id: 'console:demo-user:session-default' };
      await client.ask('chat.send', { content: 'mine', ...posing });
      const chats = (await (await platform.host.fetch('/chats')).json()) as { session_id: string; channel: string }[];
      expect(chats.map(({ session_id, channel }) => [channel, session_id])).to.have.deep.members([
        ['ws', 'console:demo-user:session-default'],
        ['console', 'session-default'],
      ]);
      const theirs = { channel: 'console', user_id: 'demo-user', session_id: 'session-default' };
      expect((await client.answer('chat.history', theirs)).messages).to.deep.equal([]);
      expect((await client.answer('chat.history', posing)).messages).to.have.length(2);
    });
  });
});
