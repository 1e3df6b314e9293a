import { expect } from 'chai';
import { errorOf, eventsOf } from 'mortise/contracts/agent/testing';
import { openAi, startFakeOpenAi } from 'mortise/contracts/provider-openai/testing';
import { oneDatabase } from 'mortise/sdk/testing';
import { type ModelPlatform, openModelPlatform } from './platform.js';

const soon = { 'retry-after': '0' };

interface Reply {
  readonly reply: string;
  readonly events: readonly { readonly type: string; readonly meta?: { readonly model?: object } }[];
}

describe('turns with a provider that fails or is chosen', () => {
  oneDatabase((engine) => {
    let platform: ModelPlatform;

    async function start(env: Record<string, string> = {}): Promise<void> {
      platform = await openModelPlatform(engine, env);
    }

    afterEach(async function stop() {
      await platform.stop();
    });

    const put = (path: string, body: object) =>
      platform.host.fetch(path, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const get = async (path: string) => (await platform.host.fetch(path)).json();
    const ask = async (text = 'hi') => (await (await platform.process(text)).json()) as Reply;
    const usedModel = ({ events }: Reply) => events.at(-1)?.meta?.model;

    it('A30 end with the provider’s status, and store only the user’s text', async () => {
      await start();
      platform.upstream.always(openAi.fails(500, {}, soon));
      expect(await errorOf(await platform.process('hi'))).to.deep.include({
        status: 502,
        code: 'provider_request_failed',
        message: 'provider returned status 500',
      });
      expect(platform.asked()).to.have.length(3);
      const streamed = await platform.process('hi', { stream: true });
      expect(streamed.status).to.equal(200);
      const frames = (await eventsOf(streamed)) as ('[DONE]' | { type: string })[];
      expect(frames.map((one) => (one === '[DONE]' ? one : one.type))).to.deep.equal([
        'step_started',
        'error',
        '[DONE]',
      ]);
      const chats = (await get('/chats?user_id=u1')) as { id: string }[];
      const path = `/chats/${chats[0]?.id}`;
      expect(((await get(path)) as { messages: object[] }).messages).to.have.length(0);
      const shown = ((await get(`${path}?include_failed=true`)) as { messages: { role: string }[] }).messages;
      expect(shown.map(({ role }) => role)).to.deep.equal(['user', 'user']);
      const [turn] = (await get(`${path}/turns`)) as { status: string }[];
      expect(turn?.status).to.equal('failed');
    });

    it('A31 A32 survive one 503, and refuse an empty answer', async () => {
      await start();
      platform.upstream.answer(openAi.fails(503, {}, soon), openAi.says('here'));
      expect((await ask()).reply).to.equal('here');
      expect(platform.asked()).to.have.length(2);
      platform.upstream.answer(openAi.says(''));
      expect(await errorOf(await platform.process('hi'))).to.deep.include({
        status: 502,
        code: 'provider_invalid_reply',
        message: 'provider response has empty content',
      });
    });

    it('A33 refuse attachments until the provider is configured to accept them', async () => {
      await start();
      platform.upstream.always(openAi.says('seen'));
      const image = { type: 'image', url: 'https://a.example/b.png' };
      const input = [{ role: 'user', type: 'message', content: [{ type: 'text', text: 'what' }, image] }];
      const look = () => platform.process('', { input });
      expect(await errorOf(await look())).to.deep.include({
        status: 400,
        code: 'provider_not_supported',
        message: 'provider does not support attachments',
      });
      expect(platform.asked()).to.have.length(0);
      await put('/models/openai/config', { attachments: true });
      expect(((await (await look()).json()) as Reply).reply).to.equal('seen');
      expect(platform.asked()[0]?.messages.at(-1)?.content).to.deep.equal([
        { type: 'text', text: 'what' },
        { type: 'image_url', image_url: { url: 'https://a.example/b.png' } },
      ]);
    });

    it('use a new active model immediately, with the stored account', async () => {
      await start({ MORTISE_MODEL: '', OPENAI_API_KEY: '' });
      const other = await startFakeOpenAi({ apiKey: 'sk-of-the-other' });
      other.always(openAi.says('from the other'));
      expect((await ask()).reply).to.equal('Echo: hi');
      await put('/models/acme/config', {
        base_url: `${other.baseUrl}/`,
        api_key: 'sk-of-the-other',
        headers: { 'X-Org': 'me' },
        model_aliases: { quick: 'acme-1' },
      });
      await put('/models/active', { provider_id: 'acme', model: 'quick' });
      const reply = await ask('again');
      expect(reply.reply).to.equal('from the other');
      expect(usedModel(reply)).to.deep.equal({ provider_id: 'acme', model: 'acme-1' });
      expect(other.requests[0]?.headers['x-org']).to.equal('me');
      await put('/models/acme/config', { enabled: false });
      expect(await errorOf(await platform.process('hi'))).to.deep.include({
        status: 400,
        code: 'provider_disabled',
        message: 'active provider is disabled',
      });
      await put('/models/acme/config', { enabled: true, api_key: '' });
      expect(await errorOf(await platform.process('hi'))).to.deep.include({
        status: 400,
        code: 'provider_not_configured',
        message: 'provider api_key is required',
      });
      await other.stop();
    });

    it('fall back to the next model before the first output, and never after it', async () => {
      await start({
        MORTISE_MODEL_FALLBACKS: 'spare/one,demo/demo-chat',
        SPARE_API_KEY: 'sk-spare',
        SPARE_BASE_URL: 'http://127.0.0.1:9/v1',
      });
      await put('/models/spare/config', { max_retries: 0 });
      await put('/models/openai/config', { max_retries: 0 });
      platform.upstream.answer(openAi.fails(500));
      const reply = await ask();
      // The second model cannot be reached either.
      expect([reply.reply, usedModel(reply)]).to.deep.equal(['Echo: hi', { provider_id: 'demo', model: 'demo-chat' }]);
      const [chat] = (await get('/chats?user_id=u1')) as { id: string }[];
      const [turn] = (await get(`/chats/${chat?.id}/turns`)) as { provider_id: string; status: string }[];
      expect(turn).to.include({ provider_id: 'demo', status: 'completed' });

      platform.upstream.answer(openAi.streams(openAi.chunk({ content: 'Hel' }), openAi.reset));
      expect(await errorOf(await platform.process('hi'))).to.deep.include({ code: 'provider_request_failed' });
    });

    it('send the newest response id back when responses are stored', async () => {
      await start();
      const other = await startFakeOpenAi();
      other.always(openAi.says('ok'));
      await put('/models/acme/config', { base_url: other.baseUrl, api_key: 'any', store: true });
      await put('/models/active', { provider_id: 'acme', model: 'm' });
      await ask('one');
      await ask('two');
      const sent = other.requests.map(({ body }) => body as { previous_response_id?: string; store?: boolean });
      expect(sent.map(({ previous_response_id: id }) => id)).to.deep.equal([undefined, openAi.completionId]);
      expect(sent.map(({ store }) => store)).to.deep.equal([true, true]);
      await other.stop();
    });
  });
});
