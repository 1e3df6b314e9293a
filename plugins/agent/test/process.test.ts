import { expect } from 'chai';
import { errorOf, eventsOf, user } from 'mortise/contracts/agent/testing';
import { eachDatabase, until } from 'mortise/sdk/testing';
import { type Gateway, openGateway, turnsOf } from './gateway.js';

interface Reply {
  readonly reply: string;
  readonly events: { type: string; step: number; delta?: string; reply?: string; meta?: object }[];
}

describe('POST /agent/process', () => {
  eachDatabase((engine) => {
    let gateway: Gateway;

    before(async () => {
      gateway = await openGateway(engine);
    });

    afterEach(async () => {
      const chats = (await (await gateway.host.fetch('/chats')).json()) as { id: string }[];
      const ids = chats.map(({ id }) => id).filter((id) => id !== 'chat-default');
      await gateway.host.post('/chats/batch-delete', ids);
    });

    after(() => gateway.host.stop());

    const ask = async (text: string, extra: object = {}): Promise<Reply> =>
      (await (await gateway.process(text, extra)).json()) as Reply;

    it('answers with the reply, its events and the id of the turn', async () => {
      const response = await gateway.process('hello smoke');
      const body = (await response.json()) as Reply;
      expect(response.status).to.equal(200);
      expect(Object.keys(body)).to.deep.equal(['reply', 'events']);
      expect(body.reply).to.equal('Echo: hello smoke');
      expect(body.events.map(({ type, delta }) => [type, delta])).to.deep.equal([
        ['step_started', undefined],
        ['assistant_delta', 'Echo: hello '],
        ['assistant_delta', 'smoke'],
        ['completed', undefined],
      ]);
      expect(response.headers.get('x-turn-id')).to.match(/^turn-\d{19}$/);
      expect(response.headers.get('x-gate-action')).to.equal('deliver');
      expect(response.headers.get('x-trace-id')).to.match(/^[0-9a-f]{32}$/);
      expect(body.events.at(-1)?.meta).to.deep.equal({
        turn_id: response.headers.get('x-turn-id'),
        model: { provider_id: 'demo', model: 'demo-chat' },
      });
    });

    it('refuses a text that no database stores unchanged', async () => {
      expect(await errorOf(await gateway.process('a\u0000b'))).to.include({
        status: 400,
        code: 'invalid_request',
        message: 'the text of a message must not have NUL characters',
      });
      expect(await errorOf(await gateway.process('a\ud800b'))).to.include({
        status: 400,
        code: 'invalid_request',
        message: 'the text of a message must not have lone surrogates',
      });
    });

    it('refuses names with lone surrogates', async () => {
      for (const member of ['session_id', 'user_id']) {
        expect(await errorOf(await gateway.process('hi', { [member]: '\udc00y' }))).to.include({
          status: 400,
          code: 'invalid_request',
          message: `${member} must not have lone surrogates`,
        });
        expect((await gateway.process('hi', { [member]: '😀\ufffdy' })).status).to.equal(200);
      }
    });

    it('streams the same events, with the answer committed when the stream ends', async () => {
      const response = await gateway.process('hello smoke', { stream: true });
      expect(response.headers.get('content-type')).to.equal('text/event-stream');
      const events = (await eventsOf(response)) as Reply['events'];
      expect(events.map((event) => event.type ?? event)).to.deep.equal([
        'step_started',
        'assistant_delta',
        'completed',
        '[DONE]',
      ]);
      expect(events[1]?.delta).to.equal('Echo: hello smoke');
      const [chat] = (await (await gateway.host.fetch('/chats?user_id=u1')).json()) as { id: string }[];
      const { messages } = (await (await gateway.host.fetch(`/chats/${chat?.id}`)).json()) as {
        messages: { role: string }[];
      };
      expect(messages.map(({ role }) => role)).to.deep.equal(['user', 'assistant']);
    });

    it('cuts text between characters, and names a new chat after its first text', async () => {
      const { events } = await ask('你好，做个自我介绍');
      const deltas = events.flatMap(({ delta }) => delta ?? []);
      expect(deltas).to.deep.equal(['Echo: 你好，做个自', '我介绍']);
      const [chat] = (await (await gateway.host.fetch('/chats?user_id=u1')).json()) as { name: string }[];
      expect(chat?.name).to.equal('你好，做个自我介绍');
    });

    it('sends the model the earlier turns of the chat', async () => {
      await ask('one');
      expect((await ask('two')).reply).to.equal('Echo: one two');
    });

    it('answers an empty input', async () => {
      expect((await ask('', { input: [] })).reply).to.equal('Echo: (empty input)');
      expect((await ask('', { input: undefined })).reply).to.equal('Echo: (empty input)');
    });

    it('starts a new chat on /new, without a turn', async () => {
      await ask('before');
      const [before] = await turnsOf(gateway.host);
      const { reply, events } = await ask('  /NEW ');
      expect(reply).to.equal('上下文已清理，已开始新会话。');
      expect(events.map(({ type, step }) => [type, step])).to.deep.equal([
        ['step_started', 1],
        ['assistant_delta', 1],
        ['completed', 1],
      ]);
      expect(await turnsOf(gateway.host)).to.deep.equal([]);
      expect((await ask('x')).reply).to.equal('Echo: x');
      const [after] = await turnsOf(gateway.host);
      expect(after?.chat_id).to.not.equal(before?.chat_id);
      const streamed = await eventsOf(await gateway.process('/new', { stream: true }));
      expect(streamed).to.have.length(4);
    });

    it('refuses malformed requests before anything is written', async () => {
      const post = async (body: unknown) => errorOf(await gateway.host.post('/agent/process', body));
      const valid = { session_id: 's1', user_id: 'u1', input: [user('x')] };
      expect(await post({ session_id: 's1', input: [] })).to.deep.equal({
        status: 400,
        code: 'invalid_request',
        message: 'session_id and user_id are required',
      });
      expect(await post({ ...valid, input: 'hi' })).to.include({
        status: 400,
        code: 'invalid_json',
        message: 'invalid request body',
      });
      for (const body of [
        [],
        { ...valid, stream: 'yes' },
        { ...valid, session_id: 7 },
        { ...valid, biz_params: [] },
        { ...valid, input: [7] },
        { ...valid, input: [{ role: 'user', content: 'text' }] },
        { ...valid, input: [{ role: 'user', content: [{ type: 'text', text: 7 }] }] },
      ]) {
        expect(await post(body), JSON.stringify(body)).to.include({ status: 400, code: 'invalid_json' });
      }
      expect(await post({ ...valid, session_id: 's'.repeat(257) })).to.include({ code: 'invalid_request' });
      expect(await post({ ...valid, user_id: 'u\n' })).to.include({ code: 'invalid_request' });
      expect(await post({ ...valid, channel: '../x' })).to.include({ code: 'invalid_channel' });
      expect(await post({ ...valid, channel: 'sms' })).to.include({ status: 400, code: 'channel_not_supported' });
      for (const prompt_mode of [null, 7, 'x']) {
        expect(await post({ ...valid, biz_params: { prompt_mode } })).to.include({ message: 'invalid prompt_mode' });
      }
      expect(await post({ ...valid, biz_params: { prompt_mode: 'codex' } })).to.include({
        status: 500,
        code: 'codex_prompt_unavailable',
        message: 'codex prompt is unavailable',
      });
      expect(await post({ ...valid, biz_params: { collaboration_mode: 'plan' } })).to.include({
        message: 'collaboration mode is only supported when prompt_mode=codex',
      });
      expect(await post({ ...valid, biz_params: { max_steps: 0 } })).to.include({ code: 'invalid_request' });
      for (const request_id of [7, {}, '', 'a b', 'x'.repeat(129)]) {
        expect(await post({ ...valid, biz_params: { request_id } })).to.include({
          status: 400,
          code: 'invalid_request',
          message: 'request_id must have 1 to 128 visible ASCII characters',
        });
      }
      expect(await post({ ...valid, biz_params: { tool: { name: 'shell' } } })).to.include({
        code: 'tool_not_supported',
      });
      expect(await post({ ...valid, input: [{ role: 'user', content: [{ type: 'image', url: 'x' }] }] })).to.include({
        status: 400,
        code: 'provider_not_supported',
        message: 'provider does not support attachments',
      });
      const text = await gateway.host.fetch('/agent/process', {
        method: 'POST',
        headers: { 'content-type': 'text/plain' },
        body: 'x',
      });
      expect(await errorOf(text)).to.include({ status: 415, code: 'unsupported_media_type' });
      expect(await (await gateway.host.fetch('/chats?user_id=u1')).json()).to.deep.equal([]);
    });

    it('returns the model request when debug is set, and only then (A42)', async () => {
      const { events } = await ask('look', { biz_params: { debug: true } });
      expect(events.at(-1)?.meta).to.deep.include({
        model_request: {
          prompt_mode: 'default',
          provider_id: 'demo',
          model: 'demo-chat',
          system_layers: [],
          input: [{ role: 'user', content: 'look' }],
        },
      });
      expect((await ask('look')).events.at(-1)?.meta).to.not.have.property('model_request');
    });

    it('runs a request with an idempotency key once, and repeats its answer', async () => {
      const headers = { 'idempotency-key': 'k-1' };
      const first = await gateway.process('once', {}, headers);
      const body = await first.text();
      const again = await gateway.process('once', {}, headers);
      expect(again.headers.get('x-idempotent-replay')).to.equal('true');
      expect(again.headers.get('x-turn-id')).to.equal(first.headers.get('x-turn-id'));
      expect(await again.text()).to.equal(body);
      const streamed = await gateway.process('once', { biz_params: { request_id: 'k-2' }, stream: true });
      const events = await eventsOf(streamed);
      const replayed = await gateway.process('once', { biz_params: { request_id: 'k-2' }, stream: true });
      expect(await eventsOf(replayed)).to.deep.equal(events);
      expect(await errorOf(await gateway.process('other', {}, headers))).to.include({
        status: 409,
        code: 'idempotency_conflict',
      });
      expect(await errorOf(await gateway.process('x', {}, { 'idempotency-key': 'a b' }))).to.include({ status: 400 });
      expect(await turnsOf(gateway.host)).to.have.length(2);
    });

    it('publishes each reply as an observation that starts no turn', async () => {
      await ask('hi');
      const conversation = gateway.host.service('conversation');
      await until('the reply', () => (conversation.session('console:u1:s1')?.recent_obs.length ?? 0) >= 2);
      expect(await turnsOf(gateway.host)).to.have.length(1);
    });

    it('logs neither the message nor the answer', async () => {
      await ask('canary-in-the-text', { biz_params: { debug: true } });
      await gateway.process('canary-in-the-text', { stream: true });
      await gateway.process('canary-in-the-text', { input: 'canary-in-the-text' });
      const lines = gateway.host.logs.join('\n');
      expect(lines).to.contain('a reply was sent to the console');
      expect(lines).to.not.contain('canary');
      expect(lines).to.match(/"session_hash":"[0-9a-f]{12}"/);
    });
  });
});
