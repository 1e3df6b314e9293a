import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Finding, PluginPlan, PluginRow } from 'mortise/sdk';
import { createTestHost } from 'mortise/sdk/testing';
import { type OfflineFolder, offlineFolder, runCli } from './run-cli.js';

const on = { enabled: true };

describe('the command line without a server', () => {
  let folder: OfflineFolder;
  beforeEach(async () => {
    folder = await offlineFolder({ admin: on, logbook: on, 'text-analysis': on, 'memory-backend-local': on });
  });
  afterEach(() => folder.dispose());
  const desired = async (): Promise<Record<string, { enabled: boolean }>> =>
    (JSON.parse(await readFile(folder.pluginsFile, 'utf8')) as { plugins: Record<string, { enabled: boolean }> })
      .plugins;

  it('reads plugins and configuration from the files', async () => {
    const { plugins } = (await folder.run('plugin', 'list', '--json')).json<{ plugins: PluginRow[] }>();
    const row = plugins.find(({ key }) => key === 'logbook');
    expect(row).to.include({ desired: 'enabled', state: 'disabled' });
    expect((await folder.run('plugin', 'inspect', 'logbook')).stdout).to.contain('needed by    memory-backend-local');
    expect((await folder.run('plugin', 'tree')).code).to.equal(0);
    expect((await folder.run('config', 'host')).stdout).to.contain('environment MORTISE_DATA_DIR');
    expect((await folder.run('config')).stdout).to.match(/^host\.locale/m);
  });

  it('reports that no server answered and that it shows the desired state', async () => {
    const shown = await folder.run('plugin', 'list');
    expect([shown.code, shown.stderr.split('\n')[0]]).to.deep.equal([
      0,
      'No Mortise server answered at http://127.0.0.1:1: this is the state in the files.',
    ]);
    expect(shown.stdout).to.match(/^logbook +\S.* +\d+\.\d+\.\d+ +enabled +enabled, offline/m);
    expect(shown.stdout).to.match(/^mcp-server +\S.* +\d+\.\d+\.\d+ +disabled +disabled, offline/m);
    const { stderr, json } = await folder.run('plugin', 'list', '--json');
    expect([stderr, json().offline, json().server]).to.deep.equal(['', true, 'http://127.0.0.1:1']);
    expect((await folder.run('plugin', 'inspect', 'logbook')).stdout).to.contain('state        enabled, offline since');
    expect((await folder.run('config', 'host')).stderr).to.contain('this is the state in the files');
  });

  it('refuses the configuration of an unknown owner, and lists the known ones', async () => {
    const refused = await folder.run('config', 'nope');
    expect([refused.code, refused.stdout]).to.deep.equal([1, '']);
    expect(refused.stderr).to.match(/^\[cli_error\] "nope" .*\n {2}There are: host, admin, .*\blogbook\b/);
    expect((await folder.run('config', 'admin')).code).to.equal(0);
  });

  it('writes toggles for the next start', async () => {
    const disabled = await folder.run('plugin', 'disable', 'logbook');
    expect([disabled.code, disabled.stderr.includes('--cascade')]).to.deep.equal([1, true]);
    expect((await folder.run('plugin', 'disable', 'logbook', '--cascade')).stdout).to.equal('logbook is disabled.\n');
    expect(await desired()).to.deep.include({
      logbook: { enabled: false },
      'memory-backend-local': { enabled: false },
    });
    expect((await folder.run('plugin', 'enable', 'logbook')).stdout).to.equal(
      'logbook is enabled and starts with the server.\n',
    );
    expect(await desired()).to.deep.include({ logbook: { enabled: true } });
    const host = await createTestHost({ listen: false, env: { ...folder.env } });
    try {
      expect(host.control.list().find(({ key }) => key === 'logbook')?.state).to.equal('active');
    } finally {
      await host.stop();
    }
  });

  it('writes changes and refusals to the audit trail', async () => {
    await folder.run('plugin', 'disable', 'logbook');
    await folder.run('plugin', 'disable', 'memory-backend-local');
    await folder.run('plugin', 'disable', 'logbook', '--cascade');
    await folder.run('plugin', 'enable', 'logbook', '--json');
    const host = await createTestHost({ listen: false, plugins: ['logbook'], env: { ...folder.env } });
    try {
      const { rows } = await host.service('audit').query({});
      const entries = rows.map((row) =>
        [row.operation, row.targetSpace, row.action, row.reason, row.principal].join(' '),
      );
      expect(entries.toReversed()).to.deep.equal([
        'admin:disable plugin:logbook reject admin:plugin_has_dependants cli',
        'admin:disable plugin:memory-backend-local allow admin:done cli',
        'admin:disable plugin:logbook allow admin:done cli',
        'admin:enable plugin:logbook allow admin:done cli',
      ]);
    } finally {
      await host.stop();
    }
  });

  it('does not disable required plugins, and writes the refusal to the audit trail', async () => {
    const before = { ...(await desired()), logbook: { enabled: true, required: true } };
    await writeFile(folder.pluginsFile, JSON.stringify({ version: 1, plugins: before }));
    const { code, stderr } = await folder.run('plugin', 'disable', 'logbook', '--cascade');
    expect([code, stderr.split('\n')[0]]).to.deep.equal([
      1,
      '[plugin_required] The plugin "logbook" is required, so it cannot be disabled.',
    ]);
    expect(await desired()).to.deep.equal(before);
    const plan = await folder.run('plugin', 'disable', 'logbook', '--dry-run');
    expect(plan.stdout).to.match(/^blocked: logbook: The plugin "logbook" is required/m);
    const host = await createTestHost({ listen: false, plugins: ['logbook'], env: { ...folder.env } });
    try {
      const { rows } = await host.service('audit').query({});
      expect(rows.map((row) => [row.operation, row.action, row.reason, row.principal])).to.deep.equal([
        ['admin:disable', 'reject', 'admin:plugin_required', 'cli'],
      ]);
    } finally {
      await host.stop();
    }
  });

  it('makes a change that cannot be recorded, which the next server reports as an edit', async () => {
    const start = () => createTestHost({ listen: false, plugins: ['logbook'], env: { ...folder.env } });
    const database = join(folder.env.MORTISE_DATA_DIR ?? '', 'mortise.db');
    await (await start()).stop();
    await rename(database, `${database}.away`);
    await mkdir(database);
    const disabled = await folder.run('plugin', 'disable', 'memory-backend-local', '--json');
    expect(disabled.code).to.equal(0);
    expect(disabled.stderr).to.contain('"code":"change_not_recorded"');
    await rm(database, { recursive: true });
    await rename(`${database}.away`, database);
    const host = await start();
    try {
      const { rows } = await host.service('audit').query({ operation: 'admin:edit_file' });
      expect(rows.map(({ evidence }) => evidence.plugins)).to.deep.equal([['memory-backend-local']]);
    } finally {
      await host.stop();
    }
  });

  it('plans without running anything', async () => {
    const plan = (await folder.run('plugin', 'enable', 'mcp-server', '--dry-run', '--json')).json<PluginPlan>();
    expect(plan.starts).to.include('mcp-server');
    expect(await desired()).not.to.have.property('mcp-server');
  });

  it('finds broken files, and uses their last good state', async () => {
    await folder.run('plugin', 'list');
    await writeFile(folder.pluginsFile, '{"version": 1, "plugins": {');
    const { code, json } = await folder.run('plugin', 'doctor', '--json');
    expect(code).to.equal(1);
    expect(json<{ findings: Finding[] }>().findings[0]).to.include({ code: 'plugins_file_invalid' });
    const { plugins } = (await folder.run('plugin', 'list', '--json')).json<{ plugins: PluginRow[] }>();
    expect(plugins.find(({ key }) => key === 'logbook')).to.include({ desired: 'enabled' });
  });

  it('finds nothing when there is no problem', async () => {
    const { code, stdout } = await folder.run('plugin', 'doctor');
    expect([code, stdout]).to.deep.equal([0, 'Nothing to fix.\n']);
  });

  it('exits with 3 for commands that need a server', async () => {
    for (const args of [['status'], ['plugin', 'restart', 'admin'], ['plugin', 'release', 'admin']]) {
      const { code, stderr } = await folder.run(...args);
      expect([code, stderr.split('\n')[0]], args.join(' ')).to.deep.equal([
        3,
        '[cli_error] No Mortise server answers at http://127.0.0.1:1.',
      ]);
    }
  });

  it('names the wrong setting', async () => {
    await writeFile(join(folder.configDir, 'mortise.json'), JSON.stringify({ http: { port: 'many' } }));
    const { MORTISE_PORT: _, ...env } = folder.env;
    const { code, stderr } = await runCli(['plugin', 'list', '--json'], env);
    expect(code).to.equal(1);
    expect(JSON.parse(stderr).error.message).to.contain('port');
  });

  it('finds the server at the address in the settings', async () => {
    const host = await createTestHost({ plugins: ['admin'] });
    try {
      const { MORTISE_PORT: _, ...env } = folder.env;
      const port = Number(new URL(host.origin).port);
      await writeFile(join(folder.configDir, 'mortise.json'), JSON.stringify({ http: { port } }));
      expect((await runCli(['status'], env)).code).to.equal(0);
    } finally {
      await host.stop();
    }
  });
});
