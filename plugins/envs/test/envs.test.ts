import { expect } from 'chai';
import { maskCredential, unmaskCredential } from 'mortise/contracts/envs';
import { createTestHost, eachDatabase, type TestHost } from 'mortise/sdk/testing';

interface Env {
  readonly key: string;
  readonly value: string;
}

const secretKey = '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef';

describe('stored variables', () => {
  eachDatabase((engine) => {
    let host: TestHost;

    beforeEach(async () => {
      host = await createTestHost({ plugins: ['envs'], database: engine.env, env: { MORTISE_SECRET_KEY: secretKey } });
    });

    afterEach(() => host.stop());

    const send = async (method: string, path: string, body?: unknown) => {
      const response = await host.fetch(path, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const answer = (await response.json()) as readonly Env[] & { readonly error?: { readonly code: string } };
      return { status: response.status, list: answer, code: answer.error?.code };
    };

    it('are replaced as a whole and listed by key, credentials masked', async () => {
      await send('PUT', '/envs', { Z: '1', A_TOKEN: 'abcdefgh', B_SECRET: 'short' });
      const { list } = await send('PUT', '/envs', { B: '1', A_TOKEN: 'abcdefgh' });
      expect(list).to.deep.equal([
        { key: 'A_TOKEN', value: 'abc***fgh' },
        { key: 'B', value: '1' },
      ]);
      expect((await send('GET', '/envs')).list).to.deep.equal(list);
    });

    it('keep a credential whose mask is written back', async () => {
      await send('PUT', '/envs', { A_TOKEN: 'abcdefgh', B: '1' });
      const { list } = await send('GET', '/envs');
      await send('PUT', '/envs', { ...Object.fromEntries(list.map(({ key, value }) => [key, value])), B: '2' });
      expect(Object.fromEntries(host.service('envs').all())).to.deep.equal({ A_TOKEN: 'abcdefgh', B: '2' });
    });

    it('are deleted one by one', async () => {
      await send('PUT', '/envs', { A: '1', B: '2' });
      expect((await send('DELETE', '/envs/A')).list).to.deep.equal([{ key: 'B', value: '2' }]);
      const missing = await send('DELETE', '/envs/A');
      expect([missing.status, missing.code]).to.deep.equal([404, 'not_found']);
    });

    it('are refused as a whole when one of them cannot be a variable', async () => {
      await send('PUT', '/envs', { A: '1' });
      for (const key of ['', ' ', 'A=B', 'A B', 'A\u0000', 'A\n']) {
        const { status, code } = await send('PUT', '/envs', { B: '2', [key]: 'x' });
        expect([status, code], JSON.stringify(key)).to.deep.equal([400, 'invalid_env_key']);
      }
      for (const body of [[], 'x', { A: 7 }, { A: null }, { A: 'a\u0000b' }]) {
        expect((await send('PUT', '/envs', body)).code, JSON.stringify(body)).to.equal('invalid_json');
      }
      expect((await send('GET', '/envs')).list).to.deep.equal([{ key: 'A', value: '1' }]);
    });

    it('are encrypted at rest, and in no audit row and no log line', async () => {
      await send('PUT', '/envs', { A_TOKEN: 'canary-in-clear', B: 'canary-too' });
      const { rows } = await host.app.database.forPlugin('probe', ['agent']).statement('select * from {agent.envs}');
      expect(rows).to.have.length(2);
      expect(JSON.stringify(rows)).to.not.contain('canary');
      const { rows: trail } = await host.service('audit').query({ reasonPrefix: 'envs:' });
      expect(trail.map(({ operation }) => operation)).to.deep.equal(['envs:replace']);
      expect(JSON.stringify(trail)).to.contain('A_TOKEN').and.to.not.contain('canary');
      expect(host.logs.join('')).to.not.contain('canary');
    });

    it('reach processes without those that would replace settings of the platform', async () => {
      await send('PUT', '/envs', { PATH: '/x', HOME: '/y', MORTISE_API_KEY: 'z', NEXTAI_X: 'z', EDITOR: 'vi' });
      expect(host.service('envs').exported()).to.deep.equal({ EDITOR: 'vi' });
    });

    it('are not revealed where no key proves the admin right', async () => {
      await send('PUT', '/envs', { A_TOKEN: 'abcdefgh' });
      const refused = await send('GET', '/envs?reveal=true');
      expect([refused.status, refused.code]).to.deep.equal([403, 'forbidden']);
    });
  });

  it('are revealed with the admin key, which is audited, and to no other key', async () => {
    const keys = [
      { key: 'key-of-anna-0123', id: 'anna', actor: 'anna' },
      { key: 'key-of-all-01234', id: 'all' },
    ];
    const env = { MORTISE_API_KEYS: JSON.stringify(keys), GOVERNANCE_ADMIN_KEY: 'admin-key-012345' };
    const host = await createTestHost({ plugins: ['envs'], env });
    const get = (path: string, headers: Record<string, string>) => host.fetch(path, { headers });
    const all = { 'x-api-key': 'key-of-all-01234', 'content-type': 'application/json' };
    await host.fetch('/envs', { method: 'PUT', headers: all, body: JSON.stringify({ A_TOKEN: 'abcdefgh' }) });
    expect((await get('/envs?reveal=true', all)).status).to.equal(403);
    expect((await get('/envs', { 'x-api-key': 'key-of-anna-0123' })).status).to.equal(403);
    const shown = await get('/envs?reveal=true', { ...all, 'x-admin-key': 'admin-key-012345' });
    expect(await shown.json()).to.deep.equal([{ key: 'A_TOKEN', value: 'abcdefgh' }]);
    const { rows } = await host.service('audit').query({ reasonPrefix: 'envs:' });
    expect(rows[0]).to.deep.include({ operation: 'envs:reveal', principal: 'all' });
    await host.stop();
  });
});

describe('the mask of a credential', () => {
  it('shows the ends of longer ones only', () => {
    expect(['', 'a', '123456', '1234567', 'sk-abcdef123456', '😀😀😀😀😀😀😀'].map(maskCredential)).to.deep.equal([
      '',
      '***',
      '***',
      '123***567',
      'sk-***456',
      '😀😀😀***😀😀😀',
    ]);
  });

  it('stands for the stored value when it is written back, and for itself otherwise', () => {
    expect(unmaskCredential('abc***fgh', 'abcdefgh')).to.equal('abcdefgh');
    expect(unmaskCredential('abc***fgh', undefined)).to.equal('abc***fgh');
    expect(unmaskCredential('new', 'abcdefgh')).to.equal('new');
  });
});

describe('a model provider without a key of its own', () => {
  it('uses the stored variable as soon as there is one', async () => {
    const host = await createTestHost({ plugins: ['envs', 'models'] });
    const hasKey = async (): Promise<boolean> => {
      const providers = (await (await host.fetch('/models')).json()) as { id: string; has_api_key: boolean }[];
      return providers.find(({ id }) => id === 'openai')?.has_api_key ?? false;
    };
    expect(await hasKey()).to.equal(false);
    const put = (body: object) =>
      host.fetch('/envs', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    await put({ OPENAI_API_KEY: 'sk-abcdef123456' });
    expect(await hasKey()).to.equal(true);
    await put({});
    expect(await hasKey()).to.equal(false);
    await host.stop();
  });
});
