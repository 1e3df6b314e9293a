import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { Finding } from 'mortise/sdk';
import { createTestHost, eachDatabase } from 'mortise/sdk/testing';
import { type OfflineFolder, offlineFolder, onServer } from './run-cli.js';

const on = { enabled: true };

describe('the command line and the database', function () {
  this.timeout(90_000);

  eachDatabase((engine) => {
    let folder: OfflineFolder;
    beforeEach(async () => {
      folder = await offlineFolder({ admin: on, logbook: on, sessions: on }, engine.env);
    });
    afterEach(() => folder.dispose());

    it('creates the tables of every enabled plugin once', async () => {
      const first = (await folder.run('migrate', '--json')).json<{ plugins: string[]; applied: string[] }>();
      expect(first.plugins).to.deep.equal(['logbook', 'sessions']);
      // The database keeps its tables between the tests of a block.
      expect(first.applied.every((name) => /^(logbook|sessions)\/\d{4}-/.test(name))).to.equal(true);
      const second = await folder.run('migrate');
      expect([second.code, second.stdout]).to.deep.equal([0, 'The tables of logbook, sessions are up to date.\n']);
    });

    it('names the plugin that could not be migrated', async () => {
      await folder.addPlugin(
        'broken',
        { permissions: { services: ['database'], schemas: ['broken'] } },
        `export default () => ({
          key: 'broken',
          register() {},
          start: (host) => host.use('database').migrate([{ name: '0001', up: (schema) => schema.raw('create nonsense') }]),
        });`,
      );
      await folder.run('plugin', 'enable', 'broken');
      const { code, error, stdout } = await folder.run('migrate', '--json');
      expect([code, stdout]).to.deep.equal([1, '']);
      expect(error().message).to.match(/^broken is failed: .*0001/);
      await folder.run('plugin', 'disable', 'broken');
    });

    it('toggles plugins in the state that the servers share, and updates the file', async () => {
      expect((await folder.run('plugin', 'disable', 'sessions')).code).to.equal(0);
      const written = async () =>
        (JSON.parse(await readFile(folder.pluginsFile, 'utf8')) as { plugins: Record<string, unknown> }).plugins;
      const shared = engine.dialect === 'postgres';
      expect(await written()).to.deep.include({ sessions: { enabled: shared } });
      const host = await createTestHost({ plugins: ['admin', 'logbook'], database: engine.env });
      try {
        const row = host.control.list().find(({ key }) => key === 'sessions');
        expect([row?.desired, row?.state]).to.deep.equal(['disabled', 'disabled']);
        const exported = await onServer(host, 'plugin', 'export', '--json');
        expect(exported.json()).to.include({ file: 'plugins.json', changed: shared });
        if (shared) {
          const file = JSON.parse(await readFile(host.pluginsFile, 'utf8')) as { plugins: object };
          expect(file.plugins).to.deep.include({ sessions: { enabled: false } });
        }
        expect((await onServer(host, 'plugin', 'export', '--json')).json()).to.include({ changed: false });
      } finally {
        await host.stop();
      }
      const offline = await folder.run('plugin', 'export', '--json');
      expect(offline.json()).to.include({ changed: shared });
      expect(await written()).to.deep.include({ sessions: { enabled: false } });
    });
  });

  it('reports an unreachable database, and all problems in the files, as findings', async () => {
    const folder = await offlineFolder(
      { admin: on, gone: on },
      { DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/none' },
    );
    try {
      const { code, json, stderr } = await folder.run('plugin', 'doctor', '--json');
      const { findings } = json<{ findings: Finding[] }>();
      expect([code, findings.map((one) => one.code)]).to.deep.equal([1, ['database_unreachable', 'plugin_missing']]);
      expect(stderr).not.to.include('database');
      expect(findings[0]?.message).to.match(/127\.0\.0\.1:1.* cannot be reached.*plugins\.json/);
      expect(findings[0]?.fix).to.match(/^Start it, or correct DATABASE_URL/);
      for (const options of [[], ['--fix']]) {
        const text = await folder.run('plugin', 'doctor', ...options);
        expect(text.code).to.equal(1);
        expect(text.stdout).to.match(/^error: The database .*\n {2}Start it, or correct DATABASE_URL/);
        expect(text.stdout).not.to.include('secret');
      }
    } finally {
      await folder.dispose();
    }
  });

  it('reports that the shared state cannot be reached', async () => {
    const folder = await offlineFolder({ admin: on }, { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    try {
      const { code, error } = await folder.run('plugin', 'list', '--json');
      expect([code, error().code]).to.deep.equal([1, 'database_unreachable']);
    } finally {
      await folder.dispose();
    }
  });
});
