import { expect } from 'chai';
import { errorOf, eventsOf } from 'mortise/contracts/agent/testing';
import { createGate, openAi } from 'mortise/contracts/provider-openai/testing';
import { chunks, kinds } from 'mortise/contracts/realtime/testing';
import { oneDatabase, until } from 'mortise/sdk/testing';
import { httpSession, type ModelPlatform, openModelPlatform } from './platform.js';

const { chunk, endMark } = openAi;
const pieces = ['Hel', 'lo ', '世界', ' 👋'];

describe('answers of a streaming API', () => {
  oneDatabase((engine) => {
    let platform: ModelPlatform;

    before(async () => {
      platform = await openModelPlatform(engine);
    });

    afterEach(async () => {
      platform.upstream.clear();
      const chats = (await (await platform.host.fetch('/chats')).json()) as { id: string }[];
      await platform.host.post(
        '/chats/batch-delete',
        chats.map(({ id }) => id).filter((id) => id !== 'chat-default'),
      );
    });

    after(async function stop() {
      await platform.stop();
    });

    /** Sends each piece once its gate is opened. */
    function gated() {
      const gates = pieces.map(() => createGate());
      const answer = openAi.streamsFrom(async function* () {
        for (const [index, content] of pieces.entries()) {
          await gates[index]?.opened;
          yield chunk({ content });
        }
        yield chunk({}, 'stop');
        yield endMark;
      });
      return { gates, answer };
    }

    it('reach a reader of events as the API cuts them, with model, id and usage at the end', async () => {
      platform.upstream.always(openAi.completes({ text: pieces, usage: { prompt: 11, completion: 4 } }));
      const events = (await eventsOf(await platform.process('hi', { stream: true }))) as {
        type: string;
        delta?: string;
        meta?: Record<string, unknown>;
      }[];
      expect(events.flatMap(({ delta }) => delta ?? [])).to.deep.equal(pieces);
      const { turn_id: _, ...meta } = events.at(-2)?.meta ?? {};
      expect(meta).to.deep.equal({
        provider_response_id: openAi.completionId,
        usage: { input_tokens: 11, output_tokens: 4 },
        model: { provider_id: 'openai', model: 'gpt-4o-mini' },
      });
      const whole = (await (await platform.process('hi')).json()) as { reply: string; events: { type: string }[] };
      expect(whole.reply).to.equal(pieces.join(''));
      expect(whole.events.map(({ type }) => type)).to.deep.equal(['step_started', 'assistant_delta', 'completed']);
      expect(platform.asked().map(({ model, stream }) => [model, stream])).to.deep.equal(
        Array(2).fill(['gpt-4o-mini', true]),
      );
    });

    it('reach a reader of events before the next piece is sent', async () => {
      const { gates, answer } = gated();
      platform.upstream.answer(answer);
      const response = await platform.process('hi', { stream: true });
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let seen = '';
      for (const [index, piece] of pieces.entries()) {
        gates[index]?.open();
        while (!seen.includes(JSON.stringify(piece))) seen += (await reader?.read())?.value ?? '';
      }
      while (!seen.includes('[DONE]')) seen += (await reader?.read())?.value ?? '';
    });

    it('reach a socket before the next piece is sent', async () => {
      const { gates, answer } = gated();
      platform.upstream.answer(answer);
      const client = await platform.connect();
      const sent = client.request('chat.send', { content: 'hi', events: ['usage'] });
      for (const [index] of pieces.entries()) {
        gates[index]?.open();
        await until(`piece ${index}`, () => chunks(client.of(sent)).length === index + 1);
      }
      expect(chunks(await client.end(sent))).to.deep.equal(pieces);
      expect((await platform.rows()).map(({ role, content }) => [role, content])).to.deep.equal([
        ['user', 'hi'],
        ['assistant', pieces.join('')],
      ]);
    });

    it('cancel the work of the API when the reader of events disconnects', async () => {
      const { gates, answer } = gated();
      platform.upstream.answer(answer);
      gates[0]?.open();
      const controller = new AbortController();
      const response = await platform.process('hi', { stream: true }, { signal: controller.signal });
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let seen = '';
      while (!seen.includes('Hel')) seen += (await reader?.read())?.value ?? '';
      controller.abort();
      await platform.upstream.requests[0]?.leaving;
      await until('the row', async () => (await platform.rows(httpSession)).at(-1)?.status === 'cancelled');
      expect((await platform.rows(httpSession)).at(-1)).to.include({ content: 'Hel', turnStatus: 'cancelled' });
    });

    it('cancel the work of the API when the socket closes, or the message is cancelled', async () => {
      const first = gated();
      platform.upstream.answer(first.answer);
      first.gates[0]?.open();
      const client = await platform.connect();
      const sent = client.request('chat.send', { content: 'hi' });
      await until('the first piece', () => chunks(client.of(sent)).length === 1);
      client.socket.close();
      await platform.upstream.requests[0]?.leaving;
      await until('the row', async () => (await platform.rows()).at(-1)?.status === 'interrupted');

      const second = gated();
      platform.upstream.answer(second.answer);
      second.gates[0]?.open();
      const next = await platform.connect();
      const message = next.request('chat.send', { content: 'again' });
      await until('the first piece', () => chunks(next.of(message)).length === 1);
      const cancel = next.request('chat.cancel', { request_id: message });
      await platform.upstream.requests[1]?.leaving;
      expect((await next.end(message)).at(-1)?.data).to.deep.equal({
        content: '',
        done: true,
        finish_reason: 'cancelled',
      });
      expect((await next.end(cancel))[0]?.data).to.deep.equal({ cancelled: true, request_id: message });
      expect((await platform.rows()).at(-1)).to.include({ content: 'Hel', status: 'cancelled' });
    });

    it('are requested once per idempotency key', async () => {
      platform.upstream.always(openAi.says('once'));
      const headers = { 'idempotency-key': 'k' };
      const first = await (await platform.process('hi', {}, { headers })).text();
      const again = await platform.process('hi', {}, { headers });
      expect(again.headers.get('x-idempotent-replay')).to.equal('true');
      expect(await again.text()).to.equal(first);
      expect(platform.asked()).to.have.length(1);
    });

    it('of one session are sequential', async () => {
      const gate = createGate();
      platform.upstream.answer(
        openAi.streamsFrom(async function* () {
          await gate.opened;
          yield chunk({ content: 'first' }, 'stop');
          yield endMark;
        }),
        openAi.says('second'),
      );
      const one = platform.process('1');
      await until('the first request', () => platform.asked().length === 1);
      const two = platform.process('2');
      gate.open();
      await Promise.all([one, two]);
      expect((await platform.rows(httpSession)).map(({ content }) => content)).to.deep.equal([
        '1',
        'first',
        '2',
        'second',
      ]);
      expect(platform.asked()[1]?.messages.map(({ content }) => content)).to.deep.equal(['1', 'first', '2']);
    });

    it('contain the model request when debug is set', async () => {
      platform.upstream.always(openAi.says('ok'));
      const meta = async (debug: boolean) =>
        (
          (await (await platform.process('look', { biz_params: { debug } })).json()) as { events: { meta?: object }[] }
        ).events.at(-1)?.meta;
      expect(await meta(false)).to.not.have.property('model_request');
      expect(await meta(true)).to.have.nested.property('model_request.model', 'gpt-4o-mini');
    });

    it('are not requested with attachments that the models do not accept', async () => {
      const input = [{ role: 'user', content: [{ type: 'image', url: 'https://a.example/b.png' }] }];
      expect(await errorOf(await platform.process('', { input }))).to.deep.include({
        status: 400,
        code: 'provider_not_supported',
        message: 'provider does not support attachments',
      });
      expect(platform.asked()).to.deep.equal([]);
    });

    it('are distinguished from truncated ones, over HTTP and the socket', async () => {
      platform.upstream.always(openAi.streams(chunk({ content: 'Hel' })));
      expect(await errorOf(await platform.process('hi'))).to.deep.include({
        status: 502,
        code: 'provider_request_failed',
        message: 'provider stream request failed',
        details: { cause: 'incomplete_stream' },
      });
      const frames = await platform.send('hi');
      expect(kinds(frames)).to.deep.equal(['stream_chunk', 'LLM_ERROR']);
      expect(frames[1]?.error?.message).to.equal('Model stream ended before completion');
      expect((await platform.rows()).map(({ content, status }) => [content, status])).to.deep.equal([
        ['hi', 'complete'],
        ['Hel', 'error'],
      ]);
    });
  });
});
