import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';
import { type OfflineFolder, offlineFolder, onServer } from './run-cli.js';

const schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    limit: { type: 'integer', minimum: 0, default: 5, 'x-env': 'TUNED_LIMIT' },
    label: { type: 'string', default: 'none' },
    nested: { type: 'object', properties: { on: { type: 'boolean', default: false }, names: { type: 'array' } } },
    api_key: { type: 'string', 'x-secret': true },
  },
};

type Applied = { readonly applied: string; readonly overridden_by: string | null };

describe('mortise config set and unset', () => {
  describe('with a server', () => {
    let host: TestHost;
    let inForce: unknown;
    beforeEach(async () => {
      host = await createTestHost({
        plugins: ['admin', 'logbook'],
        extra: [
          {
            manifest: { key: 'tuned' },
            configSchema: schema,
            definition: () => ({
              key: 'tuned',
              start(own: { config: unknown }) {
                inForce = own.config;
              },
            }),
          },
        ],
        config: { tuned: { limit: 1, nested: { on: true } } },
      });
    });
    afterEach(() => host.stop());

    const stored = async (): Promise<unknown> => JSON.parse(await readFile(join(host.configDir, 'tuned.json'), 'utf8'));
    const patch = (body: string, type = 'application/merge-patch+json') =>
      host.fetch('/admin/plugins/tuned/config', { method: 'PATCH', headers: { 'content-type': type }, body });

    it('change one value, which takes effect immediately, and no other', async () => {
      const set = await onServer(host, 'config', 'set', 'tuned.nested.names', '["a"]', '--json');
      expect(set.json<Applied>().applied).to.equal('restarted');
      await onServer(host, 'config', 'set', 'tuned.label', '42');
      expect(inForce).to.deep.equal({ limit: 1, label: '42', nested: { on: true, names: ['a'] } });
      const unset = await onServer(host, 'config', 'unset', 'tuned.limit');
      expect(unset.stdout).to.equal('tuned.limit is removed: tuned was restarted with it.\n');
      expect(inForce).to.deep.include({ limit: 5 });
      expect(await stored()).to.deep.equal({ label: '42', nested: { on: true, names: ['a'] } });
    });

    it('report that nothing has changed, and refuse to remove an unknown setting', async () => {
      const before = inForce;
      const unknown = await onServer(host, 'config', 'unset', 'tuned.nope');
      expect([unknown.code, unknown.stderr]).to.deep.equal([
        2,
        '[cli_error] tuned has no setting "nope".\n  mortise config tuned shows the names.\n',
      ]);
      const unset = await onServer(host, 'config', 'unset', 'tuned.label');
      expect(unset.stdout).to.equal('tuned.label is not set: tuned keeps running unchanged.\n');
      const set = await onServer(host, 'config', 'set', 'tuned.limit', '1');
      expect(set.stdout).to.equal('tuned.limit is set: tuned keeps running unchanged.\n');
      expect(inForce).to.equal(before);
      expect(await stored()).to.deep.equal({ limit: 1, nested: { on: true } });
    });

    it('remove a file that becomes empty, so that the defaults apply', async () => {
      await onServer(host, 'config', 'unset', 'tuned.nested');
      await onServer(host, 'config', 'unset', 'tuned.limit');
      expect(inForce).to.deep.include({ limit: 5 });
      expect(await readdir(host.configDir)).to.not.include('tuned.json');
      expect((await host.control.doctor()).filter(({ key }) => key === 'tuned')).to.deep.equal([]);
      await onServer(host, 'config', 'unset', 'tuned.limit');
      expect(await readdir(host.configDir)).to.not.include('tuned.json');
      await onServer(host, 'config', 'set', 'tuned.limit', '2');
      expect(await stored()).to.deep.equal({ limit: 2 });
    });

    it('keep a secret out of the configuration file', async () => {
      await onServer(host, 'config', 'set', 'tuned.api_key', 'harvest-moon');
      expect(inForce).to.deep.include({ api_key: 'harvest-moon' });
      expect(await stored()).to.deep.include({ api_key: { $secret: 'tuned/api_key' } });
    });

    it('are refused with the path of the fault, and change nothing', async () => {
      const refused = await onServer(host, 'config', 'set', 'tuned.limit', 'many', '--json');
      expect([refused.code, refused.error().code]).to.deep.equal([1, 'invalid_config']);
      expect(await stored()).to.deep.equal({ limit: 1, nested: { on: true } });
      expect((await onServer(host, 'config', 'set', 'host.http.port', '1')).code).to.equal(2);
      expect((await onServer(host, 'config', 'set', 'tuned', '1')).code).to.equal(2);
      expect((await onServer(host, 'config', 'set', 'tuned.limit')).code).to.equal(2);
    });

    it('are a merge patch over HTTP, in either JSON type, and audited', async () => {
      const answer = await patch('{"limit":null,"nested":{"on":null}}');
      expect([answer.status, await answer.json()]).to.deep.equal([200, { applied: 'restarted' }]);
      expect(await stored()).to.deep.equal({ nested: {} });
      expect((await patch('{"limit":2}', 'application/json')).status).to.equal(200);
      expect((await patch('[]')).status).to.equal(400);
      const refused = await patch('{"limit":-1}');
      expect(refused.status).to.equal(422);
      expect(await refused.json())
        .to.have.nested.property('error.hint')
        .that.matches(/send the change again/);
      const untyped = await patch('{"limit":2}', 'text/plain');
      expect([untyped.status, await untyped.json()]).to.have.deep.nested.property('1.error.details.accepted', [
        'application/json',
        'application/merge-patch+json',
      ]);
      const { rows } = await host.service('audit').query({ operation: 'admin:configure' });
      expect(rows.map(({ action }) => action).sort()).to.deep.equal(['allow', 'allow', 'reject']);
    });

    it('can read the configuration schema from the inspection', async () => {
      const { config_schema } = await host.control.inspect('tuned');
      expect(config_schema).to.deep.equal(schema);
    });
  });

  it('without a server change the file that the next start reads, and report overriding variables', async () => {
    const folder: OfflineFolder = await offlineFolder({ tuned: { enabled: true } }, { TUNED_LIMIT: '7' });
    try {
      await folder.addPlugin('tuned', { config: 'config.schema.json' }, '');
      await folder.addFile('tuned', 'config.schema.json', JSON.stringify(schema));
      const set = await folder.run('config', 'set', 'tuned.limit', '3', '--json');
      expect(set.json<Applied>()).to.include({ applied: 'next start', overridden_by: 'TUNED_LIMIT' });
      expect(JSON.parse(await readFile(join(folder.configDir, 'tuned.json'), 'utf8'))).to.deep.equal({ limit: 3 });
      expect((await folder.run('config', 'set', 'tuned.label', 'x')).stdout).to.equal(
        'tuned.label is set: a start of tuned reads it.\n',
      );
    } finally {
      await folder.dispose();
    }
  });
});
