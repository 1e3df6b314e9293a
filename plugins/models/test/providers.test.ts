import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createTestHost, eachDatabase, type TestHost, type TestHostOptions } from 'mortise/sdk/testing';
import { silent } from './adapters.js';

const json = { 'content-type': 'application/json' };

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of several forms
  readonly body: any;
}

describe('providers and the active model', () => {
  eachDatabase((engine) => {
    let host: TestHost;

    async function start(options: TestHostOptions = {}): Promise<void> {
      host = await createTestHost({
        plugins: ['models', 'provider-demo', 'admin'],
        extra: [silent('openai-compatible'), silent('anthropic')],
        database: engine.env,
        ...options,
      });
    }

    afterEach(() => host.stop());

    async function send(method: string, path: string, body?: unknown, headers: object = {}): Promise<Answer> {
      const response = await host.fetch(path, {
        method,
        headers: { ...json, ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: await response.json() };
    }
    const configure = (id: string, body: unknown) => send('PUT', `/models/${id}/config`, body);
    const activate = (provider_id: unknown, model: unknown) => send('PUT', '/models/active', { provider_id, model });
    const errorOf = ({ status, body }: Answer) => [status, body.error?.code, body.error?.message];

    it('are listed from the first start on, with nothing configured', async () => {
      await start();
      const { body } = await send('GET', '/models');
      expect(body.map(({ id }: { id: string }) => id)).to.deep.equal(['anthropic', 'openai']);
      expect(body[1]).to.deep.include({
        id: 'openai',
        name: 'OPENAI',
        display_name: 'OPENAI',
        adapter: 'openai-compatible',
        openai_compatible: true,
        api_key_prefix: 'OPENAI_API_KEY',
        store: false,
        allow_custom_base_url: true,
        enabled: true,
        has_api_key: false,
        current_api_key: '',
        current_base_url: 'https://api.openai.com/v1',
        allow_unknown_models: false,
        max_retries: 2,
      });
      expect(body[1].models.map(({ id, limit }: { id: string; limit: object }) => [id, limit])).to.deep.equal([
        ['gpt-4.1-mini', { context: 128_000, output: 16_384 }],
        ['gpt-4o-mini', { context: 128_000, output: 16_384 }],
      ]);
      const catalog = (await send('GET', '/models/catalog')).body;
      expect(Object.keys(catalog)).to.have.members(['providers', 'defaults', 'active_llm', 'provider_types']);
      expect(catalog.defaults.openai).to.equal('gpt-4o-mini');
      expect(catalog.active_llm).to.deep.equal({ provider_id: '', model: '' });
      expect(catalog.provider_types).to.deep.equal([
        { id: 'openai', display_name: 'OpenAI' },
        { id: 'openai-compatible', display_name: 'OpenAI-compatible' },
        { id: 'codex-compatible', display_name: 'Codex-compatible' },
        { id: 'anthropic', display_name: 'Anthropic' },
      ]);
      expect((await send('GET', '/models/active')).body).to.deep.equal({ active_llm: { provider_id: '', model: '' } });
    });

    it('A43 show a key masked everywhere, and keep it when its mask is sent back', async () => {
      await start();
      const answers = [await configure('openai', { api_key: 'sk-abcdef123456' }), await send('GET', '/models')];
      answers.push(await configure('openai', { api_key: 'sk-***456', timeout_ms: 5 }));
      answers.push(await send('GET', '/models/catalog'));
      const [, list, kept] = answers;
      expect(list?.body[1]).to.include({ has_api_key: true, current_api_key: 'sk-***456' });
      expect(kept?.body).to.include({ has_api_key: true, current_api_key: 'sk-***456', timeout_ms: 5 });
      expect(JSON.stringify(answers)).to.not.contain('abcdef');
      expect(host.logs.join('\n')).to.not.contain('abcdef');
      const { settings } = await host.service('models').resolve({ providerId: 'openai', model: 'gpt-4o-mini' });
      expect(settings).to.deep.equal({
        api_key: 'sk-abcdef123456',
        base_url: 'https://api.openai.com/v1',
        timeout_ms: 5,
        max_output_tokens: 16_384,
      });
      expect((await configure('openai', { api_key: '' })).body).to.include({ has_api_key: false, current_api_key: '' });
    });

    it('A44 refuse wrong settings with a sentence, and store nothing of them', async () => {
      await start();
      const wrong: [unknown, string, string][] = [
        [{ timeout_ms: -1 }, 'invalid_provider_config', 'timeout_ms must be >= 0'],
        [
          { reasoning_effort: 'extreme' },
          'invalid_provider_config',
          'reasoning_effort must be one of: minimal, low, medium, high',
        ],
        [{ model_aliases: { '': 'x' } }, 'invalid_provider_config', 'model_aliases requires non-empty key and value'],
        [
          { model_aliases: { fast: 'faster', faster: 'fast' } },
          'invalid_provider_config',
          'model_aliases must name models: "faster" is an alias too',
        ],
        [{ model_aliases: { x: ' ' } }, 'invalid_provider_config', 'model_aliases requires non-empty key and value'],
        [{ adapter: 'unheard-of' }, 'invalid_provider_config', 'adapter "unheard-of" is not supported'],
        [{ models: [{ name: 'x' }] }, 'invalid_provider_config', 'each model requires an id of at most 200 characters'],
        [{ headers: { 'a b': 'x' } }, 'invalid_provider_config', 'headers requires valid names and values'],
        [{ api_key: 'sk-é' }, 'invalid_provider_config', 'api_key has characters that are not allowed in a header'],
        [{ api_key: 7 }, 'invalid_json', 'invalid request body'],
        [{ enabled: 'yes' }, 'invalid_json', 'invalid request body'],
        [{ headers: { a: 1 } }, 'invalid_json', 'invalid request body'],
        [[], 'invalid_json', 'invalid request body'],
      ];
      const before = (await send('GET', '/models')).body;
      for (const [patch, code, message] of wrong) {
        const body = Array.isArray(patch) ? patch : { display_name: 'changed', ...(patch as object) };
        expect(errorOf(await configure('openai', body)), JSON.stringify(patch)).to.deep.equal([400, code, message]);
      }
      for (const base_url of ['ftp://a', 'no url', 'http://u:p@a', 'http://a/?q=1', 'file:///etc']) {
        expect(errorOf(await configure('openai', { base_url }))[1], base_url).to.equal('invalid_provider_config');
      }
      expect((await send('GET', '/models')).body).to.deep.equal(before);
      for (const id of ['demo', '-x', 'a%2Fb', 'x'.repeat(65), '%20']) {
        expect(errorOf(await configure(id, {}))[1], id).to.equal('invalid_provider_id');
      }
    });

    it('A45 A46 refuse an active model that cannot be used, and resolve an alias', async () => {
      await start();
      expect(errorOf(await activate('openai', 'gpt-unknown'))).to.deep.equal([
        400,
        'model_not_found',
        'model not found for provider',
      ]);
      await configure('openai', { allow_unknown_models: true, model_aliases: { fast: 'gpt-4o-mini' } });
      expect((await activate('openai', 'gpt-unknown')).body).to.deep.equal({
        active_llm: { provider_id: 'openai', model: 'gpt-unknown' },
      });
      expect((await activate('OpenAI', 'fast')).body.active_llm).to.deep.equal({
        provider_id: 'openai',
        model: 'gpt-4o-mini',
      });
      expect(errorOf(await activate('ghost', 'x'))).to.deep.equal([404, 'provider_not_found', 'provider not found']);
      await configure('anthropic', { enabled: false });
      const disabled = await activate('anthropic', 'claude-sonnet-5-5');
      expect(errorOf(disabled)).to.deep.equal([400, 'provider_disabled', 'provider is disabled']);
      for (const model of [undefined, ' ']) {
        expect(errorOf(await activate('openai', model))).to.deep.equal([
          400,
          'invalid_model_slot',
          'provider_id and model are required',
        ]);
      }
      expect((await send('GET', '/models/active')).body.active_llm.model).to.equal('gpt-4o-mini');
    });

    it('are created, changed by members, deleted with their key, and hidden when the catalogue has them', async () => {
      await start();
      const created = await configure('Acme.AI', {
        base_url: 'http://127.0.0.1:9/v1/',
        models: [{ id: 'one', limit: { context: 1_000 } }],
        headers: { 'X-Org': 'me', 'X-Api-Key': 'secret-secret-secret' },
        unknown: true,
      });
      expect(created.body).to.deep.include({
        id: 'acme.ai',
        api_key_prefix: 'ACME_AI_API_KEY',
        adapter: 'openai-compatible',
        current_base_url: 'http://127.0.0.1:9/v1',
        allow_unknown_models: true,
        headers: { 'X-Org': 'me', 'X-Api-Key': 'sec***ret' },
        models: [{ id: 'one', name: 'one', limit: { context: 1_000 } }],
      });
      // A masked header that is sent back stays; the map is replaced.
      await configure('acme.ai', { headers: { 'X-Api-Key': 'sec***ret' }, base_url: '' });
      const { settings, limits } = await host.service('models').resolve({ providerId: 'acme.ai', model: 'one' });
      expect(settings).to.deep.equal({ headers: { 'X-Api-Key': 'secret-secret-secret' } });
      expect(limits).to.deep.equal({ context: 1_000 });
      await activate('acme.ai', 'one');
      expect((await send('DELETE', '/models/acme.ai')).body).to.deep.equal({ deleted: true });
      expect((await send('DELETE', '/models/acme.ai')).body).to.deep.equal({ deleted: false });
      expect((await send('GET', '/models/active')).body.active_llm).to.deep.equal({ provider_id: '', model: '' });
      expect(errorOf(await send('DELETE', '/models/demo'))[1]).to.equal('invalid_provider_id');

      await configure('openai', { api_key: 'sk-of-the-deleted-one' });
      expect((await send('DELETE', '/models/openai')).body).to.deep.equal({ deleted: true });
      expect((await send('GET', '/models')).body.map(({ id }: { id: string }) => id)).to.deep.equal(['anthropic']);
      expect(errorOf(await activate('openai', 'gpt-4o-mini'))[1]).to.equal('provider_not_found');
      expect((await configure('openai', {})).body).to.include({ has_api_key: false, display_name: 'OPENAI' });
    });

    it('survive a restart, encrypted under a secret key', async () => {
      const env = { MORTISE_SECRET_KEY: 'ab'.repeat(32) };
      const dataDir = await mkdtemp(join(tmpdir(), 'mortise-models-'));
      await start({ env, dataDir });
      const headers = { authorization: 'Bearer canary-of-the-header' };
      await configure('openai', { api_key: 'sk-canary-of-the-key', headers });
      await activate('openai', 'gpt-4o-mini');
      await host.stop();
      await start({ env, dataDir });
      const { settings } = await host.service('models').resolve(undefined);
      expect(settings).to.deep.include({ api_key: 'sk-canary-of-the-key', headers });
      await host.stop();
      // Without the secret key nothing can be read, and everything else goes on.
      await start({ dataDir });
      const [, openai] = (await send('GET', '/models')).body;
      expect(openai).to.include({ has_api_key: false }).and.not.have.property('headers');
      expect(host.logs.join('\n')).to.contain('secret_unreadable').and.not.contain('canary');
      const database = await engine.open('models', ['agent']).catch(() => undefined);
      if (engine.dialect === 'postgres' && database) {
        const { rows } = await database.statement('select * from {agent.providers}');
        expect(JSON.stringify(rows)).to.not.contain('canary');
      }
      await rm(dataDir, { recursive: true, force: true });
    });

    it('take key and address from the environment when none is stored', async () => {
      await start({
        env: {
          ANTHROPIC_API_KEY: 'sk-ant-of-the-environment',
          OLLAMA_BASE_URL: 'http://127.0.0.1:11434/v1/',
          OLLAMA_API_KEY: 'any',
          MORTISE_MODEL: 'ollama/llama3.2',
        },
      });
      const models = host.service('models');
      expect((await models.resolve(undefined)).settings).to.deep.equal({
        api_key: 'any',
        base_url: 'http://127.0.0.1:11434/v1',
      });
      const claude = await models.resolve({ providerId: 'anthropic', model: 'claude-new' });
      expect(claude).to.deep.include({ adapter: 'anthropic', model: 'claude-new' });
      expect(claude.settings).to.deep.equal({
        api_key: 'sk-ant-of-the-environment',
        base_url: 'https://api.anthropic.com',
      });
      await configure('anthropic', { api_key: 'sk-ant-stored' });
      const { settings } = await models.resolve({ providerId: 'anthropic', model: 'claude-new' });
      expect(settings.api_key).to.equal('sk-ant-stored');
    });

    it('are listed when the environment has both their address and their key', async () => {
      await start({
        env: {
          OLLAMA_BASE_URL: 'http://127.0.0.1:11434/v1/',
          OLLAMA_API_KEY: 'any',
          MY_CLAUDE_BASE_URL: 'http://127.0.0.1:9',
          MORTISE_MODEL: 'ollama/llama3.2',
          MORTISE_MODEL_FALLBACKS: '["ollama/qwen3"]',
          MORTISE_API_KEY: 'none-of-a-provider',
          MORTISE_BASE_URL: 'http://127.0.0.1:9',
        },
      });
      const key = { 'x-api-key': 'none-of-a-provider' };
      const ids = async () => (await send('GET', '/models', undefined, key)).body.map(({ id }: { id: string }) => id);
      expect(await ids()).to.deep.equal(['anthropic', 'ollama', 'openai']);
      const { body } = await send('GET', '/models', undefined, key);
      expect(body[1]).to.deep.include({ has_api_key: true, current_base_url: 'http://127.0.0.1:11434/v1' });
      const offered = await host.service('models').list();
      expect(offered.map(({ id }) => id)).to.include.members(['ollama/llama3.2', 'ollama/qwen3']);
      expect(await send('DELETE', '/models/ollama', undefined, key)).to.deep.include({ body: { deleted: true } });
      expect(await ids()).to.deep.equal(['anthropic', 'openai']);
    });

    it('are changed with an audit row each, without secrets, and not by a key that is bound to a user', async () => {
      const keys = [
        { key: 'k-everyone-0000', id: 'team' },
        { key: 'k-bound-00000000', id: 'ann', actor: 'ann' },
      ];
      await start({ env: { MORTISE_API_KEYS: JSON.stringify(keys) } });
      const as = (key: string, method: string, path: string, body?: unknown) =>
        send(method, path, body, { 'x-api-key': key });
      await as('k-everyone-0000', 'PUT', '/models/openai/config', { api_key: 'sk-canary-canary' });
      await as('k-everyone-0000', 'PUT', '/models/active', { provider_id: 'openai', model: 'gpt-4o-mini' });
      await as('k-everyone-0000', 'DELETE', '/models/openai');
      for (const [method, path, body] of [
        ['PUT', '/models/openai/config', { base_url: 'http://evil.example' }],
        ['PUT', '/models/active', { provider_id: 'demo', model: 'demo-chat' }],
        ['DELETE', '/models/anthropic', undefined],
      ] as const) {
        expect(errorOf(await as('k-bound-00000000', method, path, body)).slice(0, 2)).to.deep.equal([403, 'forbidden']);
      }
      expect((await as('k-bound-00000000', 'GET', '/models')).status).to.equal(200);
      const { rows } = await host.service('audit').query({ limit: 50 });
      const written = rows.filter(({ operation }) => operation.startsWith('models:'));
      expect(
        written.map(({ operation, targetSpace, principal }) => [operation, targetSpace, principal]),
      ).to.have.deep.members([
        ['models:configure', 'provider:openai', 'team'],
        ['models:activate', 'provider:openai', 'team'],
        ['models:delete', 'provider:openai', 'team'],
      ]);
      expect(JSON.stringify(rows)).to.not.contain('canary');
    });

    it('are configured by commands too', async () => {
      await start();
      const run = async (key: string, args: string[] = [], options: object = {}) =>
        (await host.post(`/admin/commands/${key}`, { args, options, json: true })).json() as Promise<Answer['body']>;
      const configured = await run('models-config', ['openai'], {
        apiKey: 'sk-abcdef123456',
        header: ['X-Org: me'],
        modelAlias: ['fast=gpt-4o-mini'],
        timeoutMs: '5000',
        store: 'true',
      });
      expect(configured).to.include({ exitCode: 0, text: 'openai: enabled, key sk-***456' });
      expect(configured.data).to.deep.include({ headers: { 'X-Org': 'me' }, timeout_ms: 5_000, store: true });
      expect(await run('models-active-set', [], { providerId: 'openai' })).to.include({ exitCode: 2 });
      const active = await run('models-active-set', [], { providerId: 'openai', model: 'fast' });
      expect(active.text).to.equal('openai/gpt-4o-mini');
      expect((await run('models-active-get')).text).to.equal('openai/gpt-4o-mini');
      expect((await run('models-list')).text).to.contain('  fast = gpt-4o-mini');
      expect((await run('models-delete', ['openai'])).data).to.deep.equal({ deleted: true });
      expect((await run('models-config', ['openai'], { header: ['x'] })).exitCode).to.equal(2);
    });

    it('are extended by a catalogue file, and a wrong file fails the plugin alone', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'mortise-catalogue-'));
      const MORTISE_MODEL_CATALOG = `${folder}/models.json`;
      const models = [{ id: 'gpt-6', name: 'GPT-6', limit: { context: 1_000_000 } }];
      const providers = {
        openai: { models },
        acme: { base_url: 'http://acme.example/v1', default_model: 'a', models: [] },
      };
      await writeFile(MORTISE_MODEL_CATALOG, JSON.stringify({ providers }));
      await start({ env: { MORTISE_MODEL_CATALOG } });
      expect((await activate('openai', 'gpt-6')).status).to.equal(200);
      expect((await activate('openai', 'gpt-4o-mini')).status).to.equal(200);
      expect((await send('GET', '/models/catalog')).body.defaults).to.deep.include({
        acme: 'a',
        openai: 'gpt-4o-mini',
      });
      await host.stop();
      await writeFile(MORTISE_MODEL_CATALOG, '{"providers": []}');
      await start({ env: { MORTISE_MODEL_CATALOG }, mayFail: ['models'] });
      const row = host.control.list().find(({ key }) => key === 'models');
      expect(row?.state).to.equal('failed');
      expect(row?.message).to.contain('models.json');
      await rm(folder, { recursive: true, force: true });
    });
  });
});
