import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Alert, Finding } from 'mortise/sdk';
import { createTestHost, type ServerProcess, startServer, type TestHost, until } from 'mortise/sdk/testing';
import { get, made, rowOf, rows, send } from './support.js';

describe('plugins.json', () => {
  let host: TestHost | undefined;
  let server: ServerProcess | undefined;
  afterEach(async () => {
    await host?.stop();
    await server?.dispose();
    host = undefined;
    server = undefined;
  });

  it('is followed while the server runs', async () => {
    host = await createTestHost({
      plugins: ['admin', 'logbook'],
      extra: [made('one')],
      env: { MORTISE_SETTINGS_POLL_MS: '50' },
    });
    const { pluginsFile } = host;
    await writeFile(
      pluginsFile,
      (await readFile(pluginsFile, 'utf8')).replace('"one":{"enabled":true}', '"one":{"enabled":false}'),
    );
    await until(async () => (await rowOf(host as TestHost, 'one'))?.state === 'disabled');
    const trail = host.service('audit');
    await until(async () => (await trail.query({ operation: 'admin:disable' })).rows.length > 0);
    const { rows: recorded } = await trail.query({});
    expect(recorded.map((row) => [row.operation, row.targetSpace, row.principal, row.reason])).to.deep.equal([
      ['admin:disable', 'plugin:one', 'file', 'admin:file_edited'],
    ]);
  });

  it('broken by hand changes nothing that runs, raises an alert, and is a finding', async () => {
    host = await createTestHost({
      plugins: ['admin', 'logbook'],
      extra: [made('one')],
      env: { MORTISE_SETTINGS_POLL_MS: '50' },
    });
    const alerts: Alert[] = [];
    host.app.kernel.events.on('alert', (alert) => void alerts.push(alert));
    const before = await rows(host);
    await writeFile(host.pluginsFile, '{"version": 1, "plugins": {"admin"');
    await until(() => alerts.length > 0);
    expect(alerts[0]).to.include({ code: 'plugins_file_invalid', severity: 'high' });
    expect(await rows(host)).to.deep.equal(before);
    const { findings } = (await get<{ findings: Finding[] }>(host, '/admin/plugins/doctor')).body;
    expect(findings[0]).to.include({ severity: 'error', code: 'plugins_file_invalid' });
    expect(findings[0]?.fix).to.contain('plugins.json');
    // A toggle writes a whole file again, and keeps the broken one for its author.
    expect((await send(host, '/admin/plugins/one/disable')).status).to.equal(200);
    expect(JSON.parse(await readFile(host.pluginsFile, 'utf8'))).to.deep.include({ version: 1 });
    expect(await readFile(join(host.dataDir, 'data', 'plugins.refused.json'), 'utf8')).to.contain('{"admin"');
  });

  it('broken by hand is replaced by its last good copy at the next start', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mortise-admin-'));
    try {
      const plugins = { version: 1, plugins: { admin: { enabled: true }, logbook: { enabled: true } } };
      const first = await startServer({ plugins, folder });
      await first.end();
      await writeFile(join(folder, 'plugins.json'), '{ broken');
      server = await startServer({ folder, env: { MORTISE_PLUGINS_FILE: join(folder, 'plugins.json') } });
      const states = (await rows(server))
        .filter(({ desired }) => desired === 'enabled')
        .map(({ key, state }) => [key, state]);
      expect(states).to.deep.equal([
        ['admin', 'active'],
        ['logbook', 'active'],
      ]);
      const { findings } = (await get<{ findings: Finding[] }>(server, '/admin/plugins/doctor')).body;
      expect(findings.map(({ code }) => code)).to.include('plugins_file_invalid');
    } finally {
      await server?.dispose();
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('reaches the desired state after a kill in the middle of a toggle', async () => {
    const slow = `export default () => ({
      key: 'slow',
      register() {},
      start: () => new Promise((resolve) => setTimeout(resolve, 600)),
    });`;
    const plugins = {
      version: 1,
      plugins: { admin: { enabled: true }, logbook: { enabled: true }, slow: { enabled: false } },
    };
    const folder = await mkdtemp(join(tmpdir(), 'mortise-admin-'));
    try {
      const first = await startServer({ plugins, folder });
      server = first;
      await mkdir(join(first.pluginsDir, 'slow'), { recursive: true });
      await writeFile(join(first.pluginsDir, 'slow', 'index.js'), slow);
      await writeFile(
        join(first.pluginsDir, 'slow', 'plugin.json'),
        JSON.stringify({ manifestVersion: 1, key: 'slow', version: '1.0.0', title: 'Slow', summary: 'Starts slowly.' }),
      );
      const toggling = send(first, '/admin/plugins/slow/enable').catch(() => undefined);
      await until(async () => (await rowOf(first, 'slow'))?.state === 'starting');
      await first.end('SIGKILL');
      await toggling;
      server = await startServer({ folder, env: { MORTISE_PLUGINS_FILE: join(folder, 'plugins.json') } });
      const again = server;
      await until(async () => (await rowOf(again, 'slow'))?.state === 'active');
      expect((await rowOf(again, 'slow'))?.desired).to.equal('enabled');
    } finally {
      await server?.dispose();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
