import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { exchangeCheck, readDescription } from 'mortise/contracts/openapi/testing';
import { type FakeOpenAi, openAi, startFakeOpenAi } from 'mortise/contracts/provider-openai/testing';
import type { JsonObject } from 'mortise/sdk';
import { type ServerProcess, startServer, until } from 'mortise/sdk/testing';

/** The plugins whose routes a new user calls, in the order of these tests. */
const owners =
  'models envs skills channels channel-qq workspace prompts sessions agent tool-plan self-ops claude-api openai-api'.split(
    ' ',
  );
const apiKey = 'sk-of-the-first-day-0123456789';

interface DeclaredRoute {
  readonly method: string | readonly string[];
  readonly path: string;
}

function declaredRoutes(): readonly { readonly name: string; readonly pattern: RegExp; readonly method: string }[] {
  const root = new URL('../../../plugins/', import.meta.url);
  return readdirSync(root)
    .filter((key) => owners.includes(key))
    .flatMap((key) => {
      const manifest = JSON.parse(readFileSync(new URL(`${key}/plugin.json`, root), 'utf8')) as {
        readonly permissions?: { readonly routes?: readonly DeclaredRoute[] };
      };
      return (manifest.permissions?.routes ?? []).flatMap(({ method, path }) => {
        const source = path
          .replaceAll(/[.]/g, '\\.')
          .replaceAll(/:\w+/g, '[^/]+')
          .replace(/\*\w+$/, '.+');
        return [method].flat().map((verb) => ({
          name: `${verb} ${path}`,
          method: verb,
          pattern: new RegExp(`^${source}$`),
        }));
      });
    });
}

describe('the first day of a new user', () => {
  let server: ServerProcess;
  let upstream: FakeOpenAi;
  /** Checks each call against the OpenAPI description. */
  const check = exchangeCheck(readDescription());
  const called: { readonly method: string; readonly path: string }[] = [];

  before(async () => {
    upstream = await startFakeOpenAi({ apiKey });
    server = await startServer({ env: { MORTISE_ENABLE_PROMPT_CONTEXT_INTROSPECT: 'true' } });
  });
  after(async () => {
    await server.dispose();
    await upstream.stop();
  });

  const request = async (method: string, path: string, body?: unknown): Promise<Response> => {
    called.push({ method, path: path.split('?')[0] ?? '' });
    const response = await server.fetch(path, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const problem = response.ok ? '' : await response.clone().text();
    expect(problem, `${method} ${path}`).to.equal('');
    await check({ method, path, body, response });
    return response;
  };
  const call = async <T = JsonObject>(method: string, path: string, body?: unknown): Promise<T> =>
    (await (await request(method, path, body)).json()) as T;
  const message = (text: string, more: object = {}) => ({
    session_id: 'first',
    user_id: 'anna',
    channel: 'console',
    input: [{ role: 'user', type: 'message', content: [{ type: 'text', text }] }],
    ...more,
  });

  it('starts with the choice of a model', async () => {
    expect(await call('GET', '/models/active')).to.deep.equal({ active_llm: { provider_id: '', model: '' } });
    const catalog = await call('GET', '/models/catalog');
    expect(catalog).to.have.all.keys('providers', 'defaults', 'active_llm', 'provider_types');
    await call('PUT', '/models/openai/config', { api_key: apiKey, base_url: upstream.baseUrl });
    const active = { provider_id: 'openai', model: 'gpt-4o-mini' };
    expect(await call('PUT', '/models/active', active)).to.deep.equal({ active_llm: active });
    await call('PUT', '/models/spare/config', { base_url: upstream.baseUrl, adapter_id: 'openai-compatible' });
    expect(await call('DELETE', '/models/spare')).to.deep.equal({ deleted: true });
    const shown = JSON.stringify(await call('GET', '/models'));
    expect(shown).to.contain('"id":"openai"').and.not.contain(apiKey);
  });

  it('sets up variables, skills, channels and files', async () => {
    await call('PUT', '/envs', { A_TOKEN: 'abcdefgh', UNUSED: '1' });
    await call('DELETE', '/envs/UNUSED');
    expect(await call('GET', '/envs')).to.deep.equal([{ key: 'A_TOKEN', value: 'abc***fgh' }]);

    const skill = (name: string) => ({ name, content: `# ${name}`, references: { 'guide.md': 'G' } });
    for (const name of ['greet', 'spare']) await call('POST', '/skills', skill(name));
    await call('POST', '/skills/batch-disable', ['greet', 'spare']);
    await call('POST', '/skills/batch-enable', ['spare']);
    await call('POST', '/skills/greet/enable');
    await call('POST', '/skills/spare/disable');
    const names = (skills: readonly { readonly name: string }[]) => skills.map(({ name }) => name);
    expect(names(await call('GET', '/skills/available'))).to.deep.equal(['greet']);
    expect(await call('DELETE', '/skills/spare')).to.deep.equal({ deleted: true });
    expect(names(await call('GET', '/skills'))).to.deep.equal(['greet']);
    expect(await call('GET', '/skills/greet/files/customized/references%2Fguide.md')).to.deep.equal({ content: 'G' });

    expect(await call<readonly string[]>('GET', '/config/channels/types')).to.include('console');
    const channels = await call('GET', '/config/channels');
    expect(await call('PUT', '/config/channels', channels)).to.deep.equal(channels);
    await call('PUT', '/config/channels/webhook', { enabled: false, url: 'https://example.com/hook' });
    expect(await call('GET', '/config/channels/webhook')).to.include({ url: 'https://example.com/hook' });

    expect(await call('GET', '/channels/qq/state')).to.include({ configured: false, connected: false });
    const event = { t: 'C2C_MESSAGE_CREATE', d: { content: 'hi', author: { user_openid: 'U1' } } };
    const refused = await server.post('/channels/qq/inbound', event);
    await check({ method: 'POST', path: '/channels/qq/inbound', response: refused });
    expect([refused.status, ((await refused.json()) as { error: { code: string } }).error.code]).to.deep.equal([
      400,
      'channel_disabled',
    ]);
    // Without an app id nothing connects to the platform.
    await call('PUT', '/config/channels/qq', { enabled: true, client_secret: 'secret-of-the-first-day' });
    const d = { plain_token: 'tok-0001', event_ts: '1760000000' };
    expect(await call('POST', '/channels/qq/inbound', { op: 13, d })).to.have.keys('plain_token', 'signature');
    const blank = { ...event, d: { ...event.d, content: ' ' } };
    expect(await call('POST', '/channels/qq/inbound', blank)).to.deep.equal({ accepted: false, reason: 'empty_text' });
    await call('PUT', '/config/channels/qq', { enabled: false });

    await call('PUT', '/workspace/files/prompts/hello.md', { content: 'Say hello to $NAME.' });
    expect(await call('GET', '/workspace/files/prompts/hello.md')).to.deep.equal({ content: 'Say hello to $NAME.' });
    const { files } = await call<{ files: readonly { readonly path: string }[] }>('GET', '/workspace/files');
    expect(files.map(({ path }) => path)).to.include.members([
      'config/envs.json',
      'prompts/hello.md',
      'skills/greet.json',
    ]);
    expect(await call('DELETE', '/workspace/files/skills/none.json')).to.deep.equal({ deleted: false });
    const form = new FormData();
    form.set('file', new File(['hello'], 'note.txt'));
    called.push({ method: 'POST', path: '/workspace/uploads' });
    const uploaded = await server.fetch('/workspace/uploads', { method: 'POST', body: form });
    await check({ method: 'POST', path: '/workspace/uploads', response: uploaded });
    expect(await uploaded.json()).to.include({ uploaded: true, name: 'note.txt', size: 5 });
    const payload = await call('GET', '/workspace/export?reveal=false');
    expect(await call('POST', '/workspace/import', { mode: 'replace', payload })).to.deep.equal({ imported: true });
  });

  it('has conversations with tool calls and questions', async () => {
    const { features } = await call('GET', '/runtime-config');
    expect(features).to.include({ prompt_context_introspect: true });
    const layers = JSON.stringify(await call('GET', '/agent/system-layers'));
    expect(layers).to.contain('skills_system');

    const chat = await call<{ id: string }>('POST', '/chats', {
      session_id: 'first',
      user_id: 'anna',
      channel: 'console',
      meta: { collaboration_mode: 'Plan' },
    });
    const questions = [{ id: 'way', header: 'Way', question: 'Which?' }];
    upstream.answer(
      openAi.asksFor(['call-1', 'request_user_input', JSON.stringify({ questions })]),
      openAi.says('Left it is.'),
    );
    const turn = call<{ reply: string }>('POST', '/agent/process', message('Which way?'));
    type Pending = readonly { readonly request_id: string }[];
    await until('the question', async () => {
      const pending = await call<Pending>('GET', '/agent/tool-input-requests?session_id=first');
      return pending.length === 1;
    });
    const answers = { way: { answers: ['left'] } };
    await call('POST', '/agent/tool-input-answer', { request_id: 'call-1', session_id: 'first', answers });
    expect((await turn).reply).to.equal('Left it is.');

    upstream.answer(openAi.says('Streamed.'));
    const stream = await (await request('POST', '/agent/process', message('again', { stream: true }))).text();
    expect(stream).to.match(/Streamed\.[\s\S]*data: \[DONE\]\s*$/);

    const { messages } = await call<{ messages: readonly object[] }>('GET', `/chats/${chat.id}?include_failed=true`);
    expect(messages.length).to.be.greaterThan(3);
    const turns = await call<readonly { readonly turn_id: string }[]>(
      'GET',
      `/chats/${chat.id}/turns?status=completed&limit=5`,
    );
    const turnPath = `/chats/${chat.id}/turns/${turns[0]?.turn_id}`;
    expect(await call('GET', turnPath)).to.include({ status: 'completed' });
    expect(await call('POST', `${turnPath}/cancel`)).to.deep.equal({ cancelled: false });
    const stored = (await call<readonly JsonObject[]>('GET', '/chats?user_id=anna')).find(({ id }) => id === chat.id);
    expect(await call('PUT', `/chats/${chat.id}`, { ...stored, name: 'The first' })).to.include({ name: 'The first' });
  });

  it('changes its configuration through self-ops, and serves other clients', async () => {
    upstream.always(openAi.says('Ready.'));
    const started = await call<{ reply: string; chat: { session_id: string } }>(
      'POST',
      '/agent/self/sessions/bootstrap',
      { user_id: 'anna', first_input: 'Are you there?', session_seed: 'seeded' },
    );
    expect([started.reply, started.chat.session_id]).to.deep.equal(['Ready.', 'seeded']);
    const slot = { user_id: 'anna', provider_id: 'openai', model: 'gpt-4.1-mini' };
    expect(await call('PUT', '/agent/self/sessions/seeded/model', slot)).to.have.nested.property(
      'active_llm_override.model',
      'gpt-4.1-mini',
    );
    const preview = await call('POST', '/agent/self/config-mutations/preview', {
      target: 'workspace_file',
      operations: [{ kind: 'text_rewrite', path: 'prompts/hello.md', search: 'hello', replace: 'good day' }],
    });
    expect(preview.unified_diff).to.contain('+Say good day to $NAME.');
    const { mutation_id, confirm_hash } = preview;
    await call('POST', '/agent/self/config-mutations/apply', { mutation_id, confirm_hash });
    expect(await call('GET', '/workspace/files/prompts/hello.md')).to.deep.equal({ content: 'Say good day to $NAME.' });

    const { data } = await call<{ data: readonly { readonly id: string }[] }>('GET', '/v1/models');
    const demo = data.find(({ id }) => id.includes('demo-chat'))?.id ?? '';
    expect(await call('GET', `/v1/models/${demo}`)).to.include({ id: demo });
    const messages = [{ role: 'user', content: 'hi' }];
    expect(
      JSON.stringify(await call('POST', '/v1/messages', { model: 'gpt-4.1-mini', max_tokens: 9, messages })),
    ).to.contain('Ready.');
    expect(await call('POST', '/v1/messages/count_tokens', { model: 'gpt-4.1-mini', messages })).to.have.key(
      'input_tokens',
    );
    expect(JSON.stringify(await call('POST', '/v1/chat/completions', { model: 'gpt-4.1-mini', messages }))).to.contain(
      'Ready.',
    );
    expect(JSON.stringify(await call('POST', '/v1/responses', { model: demo, input: 'hi' }))).to.contain('Echo: hi');
  });

  it('ends with a cleanup, after every route was called', async () => {
    const spare = await call<{ id: string }>('POST', '/chats', {
      session_id: 's',
      user_id: 'anna',
      channel: 'console',
    });
    expect(await call('DELETE', `/chats/${spare.id}`)).to.deep.equal({ deleted: true });
    expect(await call('POST', '/chats/batch-delete', ['unknown'])).to.deep.equal({ deleted: true });
    const unused = declaredRoutes().filter(
      ({ method, pattern }) => !called.some((one) => one.method === method && pattern.test(one.path)),
    );
    expect(unused.map(({ name }) => name)).to.deep.equal([]);
  });
});
