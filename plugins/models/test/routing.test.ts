import { expect } from 'chai';
import type { ModelsService } from 'mortise/contracts/models';
import { createTestHost, eachDatabase, oneDatabase, type TestHost, until } from 'mortise/sdk/testing';
import { silent } from './adapters.js';

const json = { 'content-type': 'application/json' };

describe('the model of a request', () => {
  oneDatabase((engine) => {
    let host: TestHost;
    let models: ModelsService;

    async function start(env: Record<string, string> = {}): Promise<void> {
      host = await createTestHost({
        plugins: ['models', 'provider-demo'],
        extra: [silent('openai-compatible'), silent('anthropic'), silent('codex-compatible'), silent('acme')],
        database: engine.env,
        env,
      });
      models = host.service('models');
    }

    afterEach(() => host.stop());

    async function put(path: string, body: object): Promise<void> {
      const response = await host.fetch(path, { method: 'PUT', headers: json, body: JSON.stringify(body) });
      expect(response.status, path).to.equal(200);
    }
    const configure = (id: string, body: object) => put(`/models/${id}/config`, body);
    const activate = (provider_id: string, model: string) => put('/models/active', { provider_id, model });
    const routed = async (name: string, naming: 'anthropic' | 'openai') => {
      const found = await models.route(name, naming);
      return found && `${found.providerId}/${found.model}`;
    };

    it('is the own one, the active one, the configured one or the demo, in this order', async () => {
      await start();
      const named = async (...args: Parameters<ModelsService['resolve']>) => {
        const { providerId, model } = await models.resolve(...args);
        return `${providerId}/${model}`;
      };
      expect(await named(undefined)).to.equal('demo/demo-chat');
      const configured = { providerId: 'acme', model: 'any' };
      expect(await named(undefined, configured)).to.equal('acme/any');
      await activate('openai', 'gpt-4o-mini');
      expect(await named(undefined, configured)).to.equal('openai/gpt-4o-mini');
      expect(await named({ providerId: 'demo', model: 'demo-chat' }, configured)).to.equal('demo/demo-chat');
    });

    it('is refused in the words of turns', async () => {
      await start();
      await configure('openai', { enabled: false });
      const refusal = (providerId: string, model: string) =>
        models
          .resolve({ providerId, model })
          .catch(({ code, status, message, hint }) => [status, code, message, ...(hint ? [hint] : [])]);
      expect(await refusal('openai', 'gpt-4o-mini')).to.deep.equal([
        400,
        'provider_disabled',
        'active provider is disabled',
        'Enable the provider openai, or choose a model of another one.',
      ]);
      await configure('openai', { enabled: true });
      expect(await refusal('openai', 'gpt-0')).to.deep.equal([
        400,
        'model_not_found',
        'active model is not available for provider',
      ]);
      expect(await refusal('ghost', 'x')).to.deep.equal([404, 'provider_not_found', 'provider not found']);
      await configure('other', { adapter: 'acme' });
      await host.control.disable('silent-acme');
      expect(await refusal('other', 'x')).to.deep.equal([
        400,
        'provider_not_supported',
        'adapter "acme" is not supported',
      ]);
    });

    it('has the limits of its provider, else those of the plugin', async () => {
      await start({
        MORTISE_MODEL_TIMEOUT_MS: '9000',
        MORTISE_MODEL_IDLE_TIMEOUT_MS: '700',
        MORTISE_MODEL_MAX_RETRIES: '1',
      });
      await configure('openai', { timeout_ms: 0 });
      const limits = async (providerId: string, model: string) => {
        const { timeout_ms, idle_timeout_ms, max_retries } = (await models.resolve({ providerId, model })).settings;
        return [timeout_ms, idle_timeout_ms, max_retries];
      };
      expect(await limits('openai', 'gpt-4o-mini')).to.deep.equal([0, 700, 1]);
      expect(await limits('anthropic', 'claude-9')).to.deep.equal([9_000, 700, 1]);
    });

    it('has the capabilities that adapter, provider and model share', async () => {
      await start();
      await configure('openai', {
        attachments: true,
        reasoning_effort: 'high',
        models: [{ id: 'plain', capabilities: { tool_call: false, attachment: false, reasoning: false } }],
      });
      const { capabilities, settings } = await models.resolve({ providerId: 'openai', model: 'plain' });
      expect(capabilities).to.deep.equal({ stream: true, toolCall: false, attachments: false, reasoning: false });
      expect(settings).to.not.have.property('reasoning_effort');
      const other = await models.resolve({ providerId: 'openai', model: 'gpt-4o-mini' });
      expect(other.capabilities).to.include({ attachments: true, toolCall: true });
    });

    it('follows the name of a stateless request', async () => {
      await start();
      expect(await routed('claude-sonnet-5-5', 'anthropic')).to.equal('demo/demo-chat');
      expect(await routed('gpt-4o', 'anthropic')).to.equal(undefined);
      expect(await routed('gpt-4o', 'openai')).to.equal('demo/demo-chat');
      expect(await routed('demo/demo-chat', 'openai')).to.equal('demo/demo-chat');
      await configure('openai', { api_key: 'sk-1', model_aliases: { 'claude-fast': 'gpt-4o-mini' } });
      await configure('anthropic', { api_key: 'sk-2' });
      await configure('a-proxy', {
        api_key: 'sk-3',
        base_url: 'http://p.example',
        models: [{ id: 'claude-haiku-4-5' }],
      });
      expect(await routed('openai/gpt-4o-mini', 'anthropic')).to.equal('openai/gpt-4o-mini');
      expect(await routed('openai/nope', 'anthropic')).to.equal(undefined);
      // The adapter of the naming first, then by id.
      expect(await routed('claude-haiku-4-5', 'anthropic')).to.equal('anthropic/claude-haiku-4-5');
      expect(await routed('claude-haiku-4-5', 'openai')).to.equal('a-proxy/claude-haiku-4-5');
      expect(await routed('claude-fast', 'anthropic')).to.equal('openai/gpt-4o-mini');
      expect(await routed('claude-9', 'anthropic')).to.equal('anthropic/claude-9');
      expect(await routed('gpt-9', 'openai')).to.equal('a-proxy/gpt-9');
      await configure('a-proxy', { enabled: false });
      await activate('openai', 'gpt-4.1-mini');
      expect(await routed('o3', 'openai')).to.equal('openai/gpt-4.1-mini');
      await configure('anthropic', { enabled: false });
      expect(await routed('claude-9', 'anthropic')).to.equal('openai/gpt-4.1-mini');
      expect(await routed('mistral-large', 'openai')).to.equal(undefined);
    });

    it('is one of the list of usable models', async () => {
      await start();
      const ids = async () => (await models.list()).map(({ id }) => id);
      expect(await ids()).to.deep.equal(['demo/demo-chat']);
      await configure('openai', { api_key: 'sk-1', model_aliases: { fast: 'gpt-4o-mini' } });
      expect(await ids()).to.deep.equal(['openai/gpt-4.1-mini', 'openai/gpt-4o-mini', 'fast', 'demo/demo-chat']);
      const [first] = await models.list();
      expect(first).to.deep.equal({
        id: 'openai/gpt-4.1-mini',
        displayName: 'GPT-4.1 mini',
        providerId: 'openai',
        createdAt: '2025-04-14T00:00:00Z',
      });
    });

    it('is one that the adapter’s own configuration allows, while its account is used', async () => {
      const allowed = [{ id: 'gpt-own', context: 9_000 }];
      host = await createTestHost({
        plugins: ['models'],
        extra: [silent('openai-compatible', { configured: true, models: allowed })],
        database: engine.env,
      });
      models = host.service('models');
      const resolve = (model: string) => models.resolve({ providerId: 'openai', model });
      const own = await resolve('gpt-own');
      expect([own.limits, own.settings]).to.deep.equal([{ context: 9_000 }, {}]);
      expect(await resolve('gpt-4o-mini').catch(({ code }) => code)).to.equal('model_not_found');
      expect((await models.list()).map(({ id }) => id)).to.deep.equal(['openai/gpt-own']);
      await configure('openai', { api_key: 'sk-another-account' });
      expect(await resolve('gpt-own').catch(({ code }) => code)).to.equal('model_not_found');
      expect((await resolve('gpt-4o-mini')).settings).to.include({ api_key: 'sk-another-account' });
    });

    it('may fall back to others, without the one that failed and those that cannot be used', async () => {
      await start({ MORTISE_MODEL_FALLBACKS: 'openai/gpt-4o-mini, ghost/x, demo/demo-chat' });
      const found = await models.fallbacks({ providerId: 'openai', model: 'gpt-4o-mini' });
      expect(found.map(({ providerId, model }) => `${providerId}/${model}`)).to.deep.equal(['demo/demo-chat']);
    });
  });
});

describe('models on several replicas', () => {
  eachDatabase((engine) => {
    // Replicas share a PostgreSQL database.
    if (engine.dialect === 'sqlite') return;

    it('are those that another replica has just configured', async () => {
      const open = () =>
        createTestHost({ plugins: ['models'], extra: [silent('openai-compatible')], database: engine.env });
      const [one, other] = await Promise.all([open(), open()]);
      try {
        const before = await other.service('models').resolve({ providerId: 'openai', model: 'gpt-4o-mini' });
        expect(before.settings).to.not.have.property('api_key');
        const body = JSON.stringify({ api_key: 'sk-of-the-other-replica' });
        await one.fetch('/models/openai/config', { method: 'PUT', headers: json, body });
        await until(async () => {
          const { settings } = await other.service('models').resolve({ providerId: 'openai', model: 'gpt-4o-mini' });
          return settings.api_key === 'sk-of-the-other-replica';
        });
      } finally {
        await Promise.all([one.stop(), other.stop()]);
      }
    });
  });
});
