import { expect } from 'chai';
import { asksFor, eventsOf, fakeModel, inTurn, says, user } from 'mortise/contracts/agent/testing';
import { createTestHost, eachDatabase, type TestHost } from 'mortise/sdk/testing';

type Json = Readonly<Record<string, unknown>>;

describe('a session that is started by a program', () => {
  eachDatabase((engine) => {
    let host: TestHost;

    async function start(options: Parameters<typeof createTestHost>[0] = {}): Promise<void> {
      host = await createTestHost({
        plugins: ['self-ops', 'provider-demo', 'channel-console'],
        database: engine.env,
        ...options,
      });
    }
    afterEach(() => host.stop());

    const bootstrap = async (body: object, headers: Readonly<Record<string, string>> = {}) => {
      const response = await host.post('/agent/self/sessions/bootstrap', body, headers);
      return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
    };
    const chats = async (userId: string) =>
      (await (await host.fetch(`/chats?user_id=${userId}`)).json()) as readonly Json[];
    const errorOf = ({ status, body }: { readonly status: number; readonly body: Json }) => {
      const { code, message } = body.error as { code: string; message: string };
      return [status, code, message];
    };

    it('has a chat, the first reply and the model that answered (A55)', async () => {
      await start();
      const { status, body, headers } = await bootstrap({ user_id: 'u', first_input: 'hi' });
      expect(status).to.equal(200);
      expect(body).to.deep.include({
        reply: 'Echo: hi',
        applied_model: { provider_id: 'demo', model: 'demo-chat' },
      });
      const [chat] = await chats('u');
      expect(body.chat).to.deep.equal(chat);
      expect(chat?.session_id).to.match(/^session-\d{19}$/);
      expect((body.events as { type: string }[]).map(({ type }) => type)).to.deep.equal([
        'step_started',
        'assistant_delta',
        'completed',
      ]);
      expect(headers.get('x-turn-id')).to.match(/^turn-/);
    });

    it('streams its turn, with chat and model in the last event', async () => {
      await start();
      const body = { user_id: 'u', first_input: 'hi', session_seed: 'mine', prompt_mode: 'default', stream: true };
      const events = await eventsOf(await host.post('/agent/self/sessions/bootstrap', body));
      expect(events.at(-1)).to.equal('[DONE]');
      const { meta } = events.at(-2) as { meta: { chat: Json; applied_model: Json } };
      expect(meta.chat).to.include({ session_id: 'mine', user_id: 'u' });
      expect(meta.applied_model).to.deep.equal({ provider_id: 'demo', model: 'demo-chat' });
    });

    it('is answered again for a repeated idempotency key', async () => {
      const model = fakeModel(() => says('Hello.'));
      await start({ plugins: ['self-ops', 'channel-console'], extra: [model.plugin] });
      const body = { user_id: 'u', first_input: 'hi', session_seed: 'mine' };
      const headers = { 'idempotency-key': 'k1' };
      const [one, two] = [await bootstrap(body, headers), await bootstrap(body, headers)];
      expect(two.body).to.deep.include({ reply: 'Hello.', applied_model: one.body.applied_model });
      expect(two.headers.get('x-idempotent-replay')).to.equal('true');
      expect(model.requests).to.have.length(1);
      expect(errorOf(await bootstrap({ ...body, first_input: 'ho' }, headers))[1]).to.equal('idempotency_conflict');
      const streamed = { ...body, session_seed: 'other', stream: true };
      const repeat = async () => eventsOf(await host.post('/agent/self/sessions/bootstrap', streamed, headers));
      const [first, second] = [await repeat(), await repeat()];
      expect(second).to.deep.equal(first);
      expect(model.requests).to.have.length(2);
    });

    it('leaves no chat behind when its turn fails', async () => {
      const broken = fakeModel(async function* () {
        yield { type: 'content_delta', text: 'begun' };
        throw new Error('gone');
      });
      await start({ plugins: ['self-ops', 'channel-console'], extra: [broken.plugin] });
      const failed = await bootstrap({ user_id: 'u', first_input: 'hi' });
      expect(failed.status).to.be.at.least(500);
      expect(await chats('u')).to.deep.equal([]);
      const turn = await host.service('sessions').getTurn(failed.headers.get('x-turn-id') ?? '');
      expect(turn).to.include({ status: 'failed' });
      expect(turn?.input).to.deep.equal([{ role: 'user', content: 'hi' }]);
      const events = await eventsOf(
        await host.post('/agent/self/sessions/bootstrap', { user_id: 'u', first_input: 'hi', stream: true }),
      );
      expect(JSON.stringify(events)).to.contain('"type":"error"');
      expect(await chats('u')).to.deep.equal([]);
      // A chat that was there before stays.
      await host.post('/chats', { session_id: 's', user_id: 'u', channel: 'console' });
      await bootstrap({ user_id: 'u', first_input: 'hi', session_seed: 's' });
      expect(await chats('u')).to.have.length(1);
      const { rows } = await host.service('audit').query({ operation: 'self-ops:bootstrap' });
      expect(rows.map(({ action }) => action)).to.deep.equal(['reject', 'reject', 'reject']);
    });

    it('is refused when the request is not valid', async () => {
      await start();
      const required = [400, 'invalid_request', 'user_id and first_input are required'];
      expect(errorOf(await bootstrap({ user_id: ' ', first_input: 'hi' }))).to.deep.equal(required);
      expect(errorOf(await bootstrap({ user_id: 'u' }))).to.deep.equal(required);
      const refusal = async (more: object) => errorOf(await bootstrap({ user_id: 'u', first_input: 'hi', ...more }))[1];
      expect(await refusal({ user_id: 7 })).to.equal('invalid_json');
      expect(await refusal({ channel: '../x' })).to.equal('invalid_channel');
      expect(await refusal({ channel: 'none' })).to.equal('channel_not_supported');
      expect(await refusal({ prompt_mode: 'none' })).to.equal('invalid_request');
      expect(await refusal({ session_seed: 'x'.repeat(300) })).to.equal('invalid_request');
      expect(await refusal({ first_input: '/new' })).to.equal('invalid_request');
      expect(await chats('u')).to.deep.equal([]);
    });

    it('can choose its own model, by an alias too', async () => {
      await start({ plugins: ['self-ops', 'provider-demo', 'provider-openai'] });
      const put = async (path: string, body: object) => {
        const init = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
        const response = await host.fetch(path, init);
        return { status: response.status, body: (await response.json()) as Json };
      };
      await put('/models/openai/config', { model_aliases: { fast: 'gpt-4o-mini' } });
      await host.post('/chats', { session_id: 's', user_id: 'u', channel: 'console' });
      const choose = (session: string, body: object) => put(`/agent/self/sessions/${session}/model`, body);
      const chosen = await choose('s', { user_id: 'u', provider_id: 'openai', model: 'fast' });
      expect(chosen.body.active_llm_override).to.include({ provider_id: 'openai', model: 'gpt-4o-mini' });
      const [chat] = await chats('u');
      expect((chat?.meta as Json | undefined)?.active_llm_override).to.deep.equal(chosen.body.active_llm_override);
      expect(await (await host.fetch('/models/active')).json()).to.deep.equal({
        active_llm: { provider_id: '', model: '' },
      });
      expect(errorOf(await choose('s', { user_id: 'u', provider_id: 'openai' }))).to.deep.equal([
        400,
        'invalid_request',
        'session_id, user_id, provider_id and model are required',
      ]);
      const slot = { user_id: 'u', provider_id: 'openai', model: 'none' };
      expect(errorOf(await choose('other', slot)).slice(0, 2)).to.deep.equal([404, 'session_not_found']);
      expect(errorOf(await choose('s', slot)).slice(0, 2)).to.deep.equal([400, 'session_model_invalid']);
      expect(errorOf(await choose('s', { ...slot, provider_id: 'none' }))[1]).to.equal('session_model_invalid');
    });

    it('is started and configured by an agent through its tool', async () => {
      const call = (args: object) => () => asksFor([['c1', 'selfops', JSON.stringify(args)]]);
      const script = inTurn(
        call({ action: 'set_session_model', provider_id: 'demo', model: 'demo-chat' }),
        call({ action: 'bootstrap_session', first_input: 'hi', session_seed: 'child' }),
        () => says('I am the child.'),
        call({ action: 'bootstrap_session', first_input: 'hi', session_seed: 'parent' }),
        call({ action: 'apply_mutation', mutation_id: 'mutation-1', confirm_hash: 'x' }),
        () => says('Done.'),
      );
      const model = fakeModel(script);
      await start({ plugins: ['self-ops', 'channel-console'], extra: [model.plugin] });
      const response = await host.post('/agent/process', { session_id: 'parent', user_id: 'u', input: [user('go')] });
      const { reply } = (await response.json()) as { reply: string };
      expect(reply).to.equal('Done.');
      const results = model.requests.at(-1)?.messages.filter(({ role }) => role === 'tool') ?? [];
      const texts = results.map(({ content }) => JSON.stringify(content));
      expect(texts[0]).to.contain('active_llm_override');
      expect(texts[1]).to.contain('I am the child.');
      expect(texts[2]).to.contain('must not be the session of this turn');
      expect(texts[3]).to.contain('tool_invoke_failed').and.to.contain('mutation_not_found');
      expect((await chats('u')).map(({ session_id }) => session_id).sort()).to.deep.equal(['child', 'parent']);
    });
  });
});
