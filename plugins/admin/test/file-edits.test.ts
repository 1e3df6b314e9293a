import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createTestHost, eachDatabase, type TestHost } from 'mortise/sdk/testing';
import { made, send } from './support.js';

const two = {
  ...made('two'),
  configSchema: { type: 'object', properties: { limit: { type: 'integer' }, word: { type: 'string' } } },
};

describe('an edit of the files while no server runs', () => {
  eachDatabase((engine) => {
    let folder: string;
    let host: TestHost | undefined;
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'mortise-edits-'));
    });
    afterEach(async () => {
      await host?.stop();
      await rm(folder, { recursive: true, force: true });
    });

    /** Starts on what the last one left, with `plugins.json` written anew. */
    async function start(disabled: readonly string[] = []): Promise<TestHost> {
      await host?.stop();
      const extra = [made('one'), two];
      host = await createTestHost({
        plugins: ['admin', 'logbook'],
        extra,
        disabled,
        dataDir: folder,
        database: engine.env,
      });
      return host;
    }

    const since = new Date().toISOString();
    async function recorded({ service }: TestHost): Promise<readonly unknown[]> {
      const { rows } = await service('audit').query({ operation: 'admin:edit_file', since });
      return rows.map(({ targetSpace, principal, reason, evidence }) => [targetSpace, principal, reason, evidence]);
    }

    it('is audited with one row per file at the next start, which names the plugins and no value', async () => {
      await start();
      await writeFile(join(folder, 'config', 'two.json'), JSON.stringify({ limit: 4711, word: 'kanarienvogel' }));
      const edited = await recorded(await start(['two']));
      expect(edited).to.have.deep.members([
        ['file:plugins.json', 'file', 'admin:file_edited', { file: 'plugins.json', plugins: ['two'] }],
        ['file:config/two.json', 'file', 'admin:file_edited', { file: 'config/two.json', plugins: ['two'] }],
      ]);
      const record = await readFile(join(folder, 'data', 'seen-files.json'), 'utf8');
      expect(record).not.to.match(/4711|kanarienvogel/);
      await rm(join(folder, 'config', 'two.json'));
      expect(await recorded(await start(['two']))).to.have.length(3);
      expect(await recorded(await start(['two'])), 'recorded once').to.have.length(3);
    });

    it('is not recorded when nothing was edited, or the platform itself wrote the file', async () => {
      const first = await start();
      const before = (await recorded(first)).length;
      const configured = await first.fetch('/admin/plugins/two/config', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ config: { limit: 3 } }),
      });
      expect(configured.status).to.equal(200);
      expect((await send(first, '/admin/plugins/one/disable')).status).to.equal(200);
      if (engine.dialect === 'postgres') expect((await send(first, '/admin/plugins/export')).status).to.equal(200);
      expect((await recorded(await start(['one']))).length).to.equal(before);
    });

    it('is audited by a later start when the trail is unavailable', async () => {
      const first = await start();
      const before = (await recorded(first)).length;
      await first.control.disable('logbook');
      await writeFile(join(folder, 'config', 'two.json'), '{"limit": 5}');
      const second = await start(['logbook']);
      await second.control.enable('logbook');
      expect((await recorded(await start())).length).to.equal(before + 1);
    });
  });
});
