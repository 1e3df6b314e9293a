import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { PluginDetail, SettingsService } from 'mortise/sdk';
import { createTestHost, type TestHost, type TestPlugin } from 'mortise/sdk/testing';
import { get, made, type Refused, rowOf, send } from './support.js';

const sized = (seen: unknown[], live: boolean): TestPlugin => ({
  ...made('sized', {
    manifest: { reload: live ? 'live' : 'restart' },
    start: (host) => void seen.push(host.config),
    ...(live ? { reconfigure: (next) => (seen.push(next) > 0 ? 'applied' : 'restart') } : {}),
  }),
  configSchema: {
    type: 'object',
    additionalProperties: false,
    required: ['size'],
    properties: { size: { type: 'integer', minimum: 1 }, token: { type: 'string', 'x-secret': true } },
  },
});

describe('configuring plugins over HTTP', () => {
  let host: TestHost;
  afterEach(() => host.stop());
  const put = <T>(body: unknown) => send<T>(host, '/admin/plugins/sized/config', body, { method: 'PUT' });

  it('blocks a plugin with a wrong configuration, names the location, and starts it once it is fixed', async () => {
    const seen: unknown[] = [];
    host = await createTestHost({
      plugins: ['admin', 'logbook'],
      extra: [sized(seen, false)],
      config: { sized: { size: 'big' } },
    });
    const refused = await send<Refused>(host, '/admin/plugins/sized/enable');
    expect([refused.status, refused.body.error.code]).to.deep.equal([422, 'plugin_blocked']);
    expect(refused.body.error.message).to.contain('size');
    const row = await rowOf(host, 'sized');
    expect([row?.state, row?.code, row?.config_valid]).to.deep.equal(['blocked', 'invalid_config', false]);
    expect((await put({ size: 3 })).status).to.equal(200);
    expect((await rowOf(host, 'sized'))?.state).to.equal('active');
    expect(seen).to.deep.equal([{ size: 3 }]);
  });

  it('keeps the old configuration in effect when the new one is refused', async () => {
    const seen: unknown[] = [];
    host = await createTestHost({
      plugins: ['admin', 'logbook'],
      extra: [sized(seen, true)],
      config: { sized: { size: 1 } },
    });
    const file = join(host.configDir, 'sized.json');
    const before = await readFile(file, 'utf8');
    for (const [body, path] of [
      [{ size: 0 }, '/size'],
      [{}, '/size'],
      [{ size: 1, colour: 'red' }, '/colour'],
    ] as const) {
      const refused = await put<Refused>(body);
      expect([refused.status, refused.body.error.code]).to.deep.equal([422, 'invalid_config']);
      const details = refused.body.error.details as readonly { path: string; message: string }[];
      expect(details.map((one) => one.path)).to.deep.equal([path]);
      expect(details[0]?.message).to.be.a('string').with.length.above(5);
    }
    expect(await readFile(file, 'utf8')).to.equal(before);
    expect(seen).to.deep.equal([{ size: 1 }]);
  });

  it('reports what has no effect, because a variable overrides it, and that nothing has changed', async () => {
    const seen: unknown[] = [];
    const plugin = sized(seen, false);
    const size = { type: 'integer', minimum: 1, 'x-env': 'SIZED_SIZE' };
    const configSchema = { type: 'object', properties: { size, colour: { type: 'string' } } };
    host = await createTestHost({
      plugins: ['admin', 'logbook'],
      extra: [{ ...plugin, configSchema }],
      env: { SIZED_SIZE: '7' },
    });
    const overridden = { 'sized.size': 'SIZED_SIZE' };
    expect((await put({ size: 2 })).body).to.deep.equal({ applied: 'unchanged', overridden });
    expect((await put({ size: 2, colour: 'red' })).body).to.deep.equal({ applied: 'restarted', overridden });
    expect((await put({ colour: 'red' })).body).to.deep.equal({ applied: 'unchanged' });
    expect(seen).to.deep.equal([{ size: 7 }, { size: 7, colour: 'red' }]);
    await host.control.disable('sized');
    expect((await put({ colour: 'blue' })).body).to.deep.equal({ applied: 'next start' });
  });

  it('reports whether it was applied live or with a restart', async () => {
    const seen: unknown[] = [];
    host = await createTestHost({
      plugins: ['admin', 'logbook'],
      extra: [sized(seen, true)],
      config: { sized: { size: 1 } },
    });
    expect((await put({ size: 2 })).body).to.deep.equal({ applied: 'live' });
    await host.stop();
    host = await createTestHost({
      plugins: ['admin', 'logbook'],
      extra: [sized(seen, false)],
      config: { sized: { size: 1 } },
    });
    expect((await put({ size: 2 })).body).to.deep.equal({ applied: 'restarted' });
    expect(seen).to.deep.equal([{ size: 1 }, { size: 2 }, { size: 1 }, { size: 2 }]);
  });

  it('never shows a secret, and keeps it when the masked value is sent back', async () => {
    const seen: unknown[] = [];
    const token = 'a-very-secret-token';
    host = await createTestHost({
      plugins: ['admin', 'logbook'],
      extra: [sized(seen, true)],
      config: { sized: { size: 1, token } },
    });
    const detail = JSON.stringify((await get<PluginDetail>(host, '/admin/plugins/sized')).body);
    const values = (await get<{ values: ReturnType<SettingsService['effective']> }>(host, '/admin/config?owner=sized'))
      .body.values;
    expect(detail + JSON.stringify(values)).not.to.contain(token);
    const shown = values.find(({ name }) => name === 'sized.token');
    expect(shown).to.include({ secret: true, source: 'file' });
    expect((await put({ size: 2, token: shown?.value })).status).to.equal(200);
    expect(seen.at(-1)).to.deep.equal({ size: 2, token });
  });

  it('refuses an invalid configuration, and any for a plugin without one', async () => {
    host = await createTestHost({
      plugins: ['admin', 'logbook'],
      extra: [sized([], true), made('plain')],
      config: { sized: { size: 1 } },
    });
    for (const body of ['[]', '7', '"x"', 'null', '']) {
      const refused = await put<Refused>(body);
      expect([body, refused.status, refused.body.error.code]).to.deep.equal([body, 400, 'invalid_request']);
    }
    const none = await send<Refused>(host, '/admin/plugins/plain/config', {}, { method: 'PUT' });
    expect([none.status, none.body.error.code]).to.deep.equal([422, 'invalid_config']);
  });

  it('lists every effective value with its source', async () => {
    host = await createTestHost({ plugins: ['admin', 'logbook'] });
    const { values } = (await get<{ values: ReturnType<SettingsService['effective']> }>(host, '/admin/config')).body;
    expect(values.find(({ name }) => name === 'host.http.port')).to.deep.include({
      value: 0,
      source: 'environment',
      origin: 'MORTISE_PORT',
    });
  });
});
