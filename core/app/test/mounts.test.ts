import { expect } from 'chai';
import { createTestHost, type TestHost, type TestPlugin } from 'mortise/sdk/testing';

const mebibyte = 1024 * 1024;

/** Declares a mount for other plugins, and owns the setting of its limit. */
const owner: TestPlugin = {
  manifest: {
    key: 'owner',
    config: 'config.schema.json',
    mounts: [
      {
        name: 'plain',
        prefix: '/owned',
        envelope: { failed: '{code}', note: '{hint}' },
        maxBytes: { plugin: 'owner', setting: 'bytes', factor: 2, minimum: 1024, maximum: mebibyte },
      },
    ],
  },
  configSchema: {
    type: 'object',
    additionalProperties: false,
    properties: { bytes: { type: 'integer', default: 2048, 'x-env': ['OWNER_BYTES'] } },
  },
  definition: { key: 'owner', register: () => undefined },
};

const user: TestPlugin = {
  manifest: {
    key: 'user',
    optional: ['owner'],
    permissions: {
      routes: [{ name: 'user', kind: 'http', method: 'POST', path: '/user', auth: 'public', mount: 'plain' }],
    },
  },
  definition: {
    key: 'user',
    register: (host) => void host.contribute('route', 'user', { handle: () => ({ body: {} }) }),
  },
};

describe('mounts of manifests', () => {
  let host: TestHost;
  afterEach(() => host.stop());

  const post = async (length: number): Promise<readonly unknown[]> => {
    const response = await host.post('/user', 'x'.repeat(length - 2));
    return [response.status, await response.json()];
  };
  const tooLarge = [413, { failed: 'payload_too_large' }];

  it('serve the routes of plugins that have their owner in optional', async () => {
    host = await createTestHost({ extra: [owner, user] });
    expect(await post(4096)).to.deep.equal([200, {}]);
    expect(await post(4097)).to.deep.equal(tooLarge);
    const unknown = await host.fetch('/owned/nowhere');
    expect([unknown.status, await unknown.json()]).to.deep.equal([404, { failed: 'not_found' }]);
  });

  it('follow a setting wherever it is set, within their bounds', async () => {
    host = await createTestHost({ extra: [owner, user], config: { owner: { bytes: 100_000 } } });
    expect(await post(200_000)).to.deep.equal([200, {}]);
    expect(await post(200_001)).to.deep.equal(tooLarge);
    await host.stop();
    host = await createTestHost({ extra: [owner, user], env: { OWNER_BYTES: String(mebibyte) } });
    expect(await post(mebibyte)).to.deep.equal([200, {}]);
    expect(await post(mebibyte + 1)).to.deep.equal(tooLarge);
  });

  it('hold while their owner is disabled, with the lowest limit', async () => {
    host = await createTestHost({ extra: [owner, user], disabled: ['owner'] });
    expect(await post(1024)).to.deep.equal([200, {}]);
    expect(await post(1025)).to.deep.equal(tooLarge);
    const unknown = await host.fetch('/owned/nowhere');
    expect([unknown.status, await unknown.json()]).to.deep.equal([404, { failed: 'not_found' }]);
  });
});
