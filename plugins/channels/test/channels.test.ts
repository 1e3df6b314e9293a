import { expect } from 'chai';
import type { JsonObject } from 'mortise/sdk';
import { contributing, createTestHost, eachDatabase, type TestHost } from 'mortise/sdk/testing';

const secretKey = '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef';

const silent = { async sendText() {} };
/** A channel with secrets by name, by depth and by its schema. */
const pager = contributing(
  'channel',
  'pager',
  {
    title: 'Pager',
    defaults: { enabled: false, url: '', retries: 2 },
    configSchema: {
      type: 'object',
      properties: {
        enabled: { type: 'boolean' },
        url: { type: 'string' },
        retries: { type: 'integer', minimum: 0 },
        line: { type: 'string', 'x-secret': true },
      },
    },
  },
  silent,
  'channel-pager',
);
/** A channel that declares nothing. */
const bare = contributing('channel', 'bare', {}, silent, 'channel-bare');

describe('the configuration of channels', () => {
  eachDatabase((engine) => {
    let host: TestHost;

    beforeEach(async () => {
      host = await createTestHost({
        plugins: ['admin', 'channels', 'channel-console'],
        extra: [pager, bare],
        database: engine.env,
        env: { MORTISE_SECRET_KEY: secretKey },
      });
    });

    afterEach(() => host.stop());

    const send = async (method: string, path: string, body?: unknown) => {
      const response = await host.fetch(path, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const answer = (await response.json()) as JsonObject & { readonly error?: { code: string; message: string } };
      return { status: response.status, answer, code: answer.error?.code, message: answer.error?.message };
    };
    const secrets = {
      secret: 'secret-abcdef',
      line: 'line-123456',
      headers: { Authorization: 'Bearer abcdef', a: 'b' },
    };

    it('are the defaults of each channel overlaid by what is stored, by name', async () => {
      expect((await send('GET', '/config/channels/types')).answer).to.deep.equal(['bare', 'console', 'pager']);
      const { answer } = await send('PUT', '/config/channels/PAGER', { enabled: true, url: 'https://example.com' });
      expect(answer).to.deep.equal({ enabled: true, url: 'https://example.com', retries: 2 });
      expect((await send('GET', '/config/channels')).answer).to.deep.equal({
        bare: {},
        console: { enabled: true, bot_prefix: '' },
        pager: answer,
      });
      expect((await send('GET', '/config/channels/Pager')).answer).to.deep.equal(answer);
    });

    it('are replaced, not merged, one by one or all together', async () => {
      await send('PUT', '/config/channels/pager', { enabled: true, retries: 7, mine: [1] });
      expect((await send('PUT', '/config/channels/pager', { mine: [2] })).answer).to.deep.equal({
        enabled: false,
        url: '',
        retries: 2,
        mine: [2],
      });
      const { answer } = await send('PUT', '/config/channels', { Console: { bot_prefix: '!' } });
      expect(answer).to.deep.equal({
        bare: {},
        console: { enabled: true, bot_prefix: '!' },
        pager: { enabled: false, url: '', retries: 2 },
      });
    });

    it('show secrets at any depth masked, and keep those whose mask is written back', async () => {
      const { answer } = await send('PUT', '/config/channels/pager', secrets);
      const masked = { secret: 'sec***def', line: 'lin***456', headers: { Authorization: 'Bea***def', a: 'b' } };
      expect(answer).to.deep.include(masked);
      await send('PUT', '/config/channels/pager', { ...answer, retries: 3 });
      expect(host.service('channels').config('pager')).to.deep.include({ ...secrets, retries: 3 });
      await send('PUT', '/config/channels', { pager: { ...answer, secret: 'another-secret' } });
      expect(host.service('channels').config('pager')).to.deep.include({ ...secrets, secret: 'another-secret' });
      expect((await send('PUT', '/config/channels/pager', { secret: '' })).answer.secret).to.equal('');
    });

    it('encrypt secrets at rest, and write them to no audit row and no log line', async () => {
      await send('PUT', '/config/channels/pager', secrets);
      const { rows } = await host.app.database
        .forPlugin('probe', ['agent'])
        .statement('select config_json, secrets_enc from {agent.channels}');
      const { rows: trail } = await host.service('audit').query({ reasonPrefix: 'channels:' });
      expect(trail.map(({ operation }) => operation)).to.deep.equal(['channels:set']);
      const everywhere = JSON.stringify([rows, trail, host.logs]);
      expect(everywhere).to.contain('pager');
      for (const secret of [secrets.secret, secrets.line, secrets.headers.Authorization]) {
        expect(everywhere).to.not.contain(secret);
      }
    });

    it('are refused for channels that do not exist', async () => {
      const missing = await send('GET', '/config/channels/sms');
      expect([missing.status, missing.code, missing.message]).to.deep.equal([404, 'not_found', 'channel not found']);
      for (const [path, body] of [
        ['/config/channels/sms', {}],
        ['/config/channels', { pager: { retries: 9 }, sms: {} }],
        ['/config/channels', { ['__proto__']: {} }],
      ] as const) {
        const { status, code } = await send('PUT', path, body);
        expect([status, code], path).to.deep.equal([400, 'channel_not_supported']);
      }
      expect((await send('GET', '/config/channels/pager')).answer.retries).to.equal(2);
    });

    it('are all refused when one of them is invalid', async () => {
      await send('PUT', '/config/channels/pager', { retries: 5 });
      for (const body of [[], 'x', null, { url: 'a\u0000b' }, { url: '\ud800' }]) {
        expect((await send('PUT', '/config/channels/pager', body)).code, JSON.stringify(body)).to.equal('invalid_json');
        expect((await send('PUT', '/config/channels', { console: {}, pager: body })).code).to.equal('invalid_json');
      }
      for (const body of [{ retries: -1 }, { enabled: 'yes' }, { secret: 7 }, { headers: { cookie: [7] } }]) {
        const { status, code } = await send('PUT', '/config/channels/pager', body);
        expect([status, code], JSON.stringify(body)).to.deep.equal([400, 'invalid_channel_config']);
      }
      expect((await send('GET', '/config/channels/pager')).answer.retries).to.equal(5);
    });

    it('are kept while the plugin of their channel is disabled', async () => {
      await send('PUT', '/config/channels/pager', { retries: 5 });
      await host.control.disable('channel-pager');
      expect((await send('GET', '/config/channels')).answer).to.have.all.keys('bare', 'console');
      await send('PUT', '/config/channels', {});
      await host.control.enable('channel-pager');
      expect((await send('GET', '/config/channels/pager')).answer.retries).to.equal(5);
    });

    it('are read and replaced by commands too', async () => {
      const run = async (key: string, args: readonly string[], options: object = {}) => {
        const response = await host.post(`/admin/commands/${key}`, { args, options, json: true });
        return JSON.parse(JSON.stringify(await response.json())) as JsonObject;
      };
      const body = JSON.stringify({ enabled: true, secret: 'secret-abcdef' });
      const config = { enabled: true, url: '', retries: 2, secret: 'sec***def' };
      expect((await run('channels-set', ['Pager'], { body })).data).to.deep.equal(config);
      expect((await run('channels-get', ['PAGER'])).data).to.deep.equal(config);
      expect((await run('channels-types', [])).data).to.deep.equal(['bare', 'console', 'pager']);
      expect((await run('channels-list', [])).data).to.deep.include({ pager: config, bare: {} });
      expect((await run('channels-set', ['pager'])).exitCode).to.equal(2);
      expect(JSON.stringify(await run('channels-set', ['sms'], { body }))).to.contain('channel_not_supported');
      expect(JSON.stringify(await run('channels-get', ['sms']))).to.contain('channel not found');
    });

    it('are not revealed without a key that proves the admin right', async () => {
      for (const path of ['/config/channels', '/config/channels/pager']) {
        const refused = await send('GET', `${path}?reveal=true`);
        expect([refused.status, refused.code]).to.deep.equal([403, 'forbidden']);
      }
    });
  });

  it('is revealed only with the admin key, which is audited', async () => {
    const keys = [
      { key: 'key-of-anna-0123', id: 'anna', actor: 'anna' },
      { key: 'key-of-all-01234', id: 'all' },
    ];
    const env = { MORTISE_API_KEYS: JSON.stringify(keys), GOVERNANCE_ADMIN_KEY: 'admin-key-012345' };
    const host = await createTestHost({ plugins: ['channels'], extra: [pager], env });
    const get = (path: string, headers: Record<string, string>) => host.fetch(path, { headers });
    const all = { 'x-api-key': 'key-of-all-01234', 'content-type': 'application/json' };
    const anna = { 'x-api-key': 'key-of-anna-0123', 'content-type': 'application/json' };
    const path = '/config/channels/pager';
    const body = JSON.stringify({ secret: 'secret-abcdef' });
    expect((await host.fetch(path, { method: 'PUT', headers: all, body })).status).to.equal(200);
    expect((await host.fetch(path, { method: 'PUT', headers: anna, body })).status).to.equal(403);
    expect((await get(path, anna)).status).to.equal(403);
    expect((await get(`${path}?reveal=true`, all)).status).to.equal(403);
    const shown = await get(`${path}?reveal=true`, { ...all, 'x-admin-key': 'admin-key-012345' });
    expect(await shown.json()).to.deep.include({ secret: 'secret-abcdef' });
    const { rows } = await host.service('audit').query({ reasonPrefix: 'channels:' });
    expect(rows[0]).to.deep.include({ operation: 'channels:reveal', principal: 'all' });
    await host.stop();
  });
});
