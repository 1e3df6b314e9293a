import { expect } from 'chai';
import type { ModelSettingsService } from 'mortise/contracts/models';
import type { CallContext } from 'mortise/sdk';
import { createTestHost, eachDatabase, localPrincipal, silentLog, type TestHost } from 'mortise/sdk/testing';
import { silent } from './adapters.js';

const ctx: CallContext = {
  signal: new AbortController().signal,
  log: silentLog,
  principal: localPrincipal,
  requestId: 'req-0000000000000000',
  correlationId: 'corr-0000000000000000',
  trace: { traceId: '0'.repeat(32), spanId: '0'.repeat(16), sampled: false },
};

describe('the documents of the model settings', () => {
  eachDatabase((engine) => {
    let host: TestHost;
    let settings: ModelSettingsService;

    beforeEach(async () => {
      host = await createTestHost({
        plugins: ['models'],
        extra: [silent('openai-compatible'), silent('demo')],
        database: engine.env,
      });
      settings = host.service('model-settings');
    });

    afterEach(() => host.stop());

    const providers = {
      acme: {
        base_url: 'https://acme.example/v1',
        api_key: 'sk-acme-0123456789',
        headers: { 'x-api-key': 'abc-0123456789' },
      },
      openai: { timeout_ms: 5_000 },
    };
    const slot = { provider_id: 'acme', model: 'big' };
    const refusal = (documents: object) =>
      settings.check(documents).then(
        () => undefined,
        ({ code }: { code: string }) => code,
      );

    it('are replaced as a whole and read back', async () => {
      await settings.replace({ providers, active: slot }, ctx);
      expect(await settings.read()).to.deep.equal({ providers, active: { providerId: 'acme', model: 'big' } });
      const shown = (await (await host.fetch('/models')).json()) as { id: string; timeout_ms?: number }[];
      expect(shown.find(({ id }) => id === 'openai')).to.include({ timeout_ms: 5_000 });
      await settings.replace({ providers: { openai: { hidden: true } } }, ctx);
      expect(await settings.read()).to.deep.equal({ providers: { openai: { hidden: true } }, active: undefined });
      const { rows } = await host.service('audit').query({ operation: 'models:replace' });
      expect(rows).to.have.length(2);
      expect(JSON.stringify(rows)).to.not.contain('sk-acme');
    });

    it('keep stored secrets whose mask is given, and nothing for another mask', async () => {
      await settings.replace({ providers }, ctx);
      const masked = settings.masked(await settings.read());
      expect(masked.providers.acme).to.deep.include({ api_key: 'sk-***789', headers: { 'x-api-key': 'abc***789' } });
      await settings.replace({ providers: masked.providers }, ctx);
      expect((await settings.read()).providers).to.deep.equal(providers);
      const { acme, other } = (await settings.check({ providers: { acme: {}, other: { api_key: 'sk-***789' } } }))
        .providers;
      expect([acme, other]).to.deep.equal([{}, {}]);
    });

    it('clear the active model when the entry of its provider is removed, and never otherwise', async () => {
      await settings.replace({ providers, active: slot }, ctx);
      expect((await settings.check({ providers: { acme: {} } })).active?.providerId).to.equal('acme');
      expect((await settings.check({ providers: { openai: {} } })).active).to.equal(undefined);
      expect((await settings.check({ active: { provider_id: '', model: '' } })).active).to.equal(undefined);
      await settings.replace({ providers: {}, active: { provider_id: 'demo', model: 'demo-chat' } }, ctx);
      expect((await settings.check({ providers: {} })).active?.providerId).to.equal('demo');
    });

    it('are refused when they are not valid, and nothing changes', async () => {
      expect(await refusal({ providers: [] })).to.equal('invalid_json');
      expect(await refusal({ providers: { demo: {} } })).to.equal('invalid_provider_id');
      expect(await refusal({ providers: { acme: { timeout_ms: -1 } } })).to.equal('invalid_provider_config');
      expect(await refusal({ providers: { acme: {}, ACME: {} } })).to.equal('invalid_provider_config');
      expect(await refusal({ active: { provider_id: 'acme' } })).to.equal('invalid_model_slot');
      expect(await refusal({ active: slot })).to.equal('provider_not_found');
      expect(await refusal({ active: { provider_id: 'openai', model: 'none' } })).to.equal('model_not_found');
      expect(await refusal({ providers: { acme: { enabled: false } }, active: slot })).to.equal(undefined);
      expect(await settings.read()).to.deep.equal({ providers: {}, active: undefined });
    });

    it('cannot be replaced by a key that is bound to a user', async () => {
      const bound = { ...ctx, principal: { ...localPrincipal, admin: false, actor: 'anna' } };
      const refused = await settings.replace({ providers }, bound).catch(({ code }: { code: string }) => code);
      expect(refused).to.equal('forbidden');
      expect((await settings.read()).providers).to.deep.equal({});
    });
  });
});
