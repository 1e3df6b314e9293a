import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Finding } from 'mortise/sdk';
import {
  createTestHost,
  ownPostgres,
  type ServerProcess,
  startServer,
  type TestHost,
  temporaryFolder,
  testDialects,
  until,
} from 'mortise/sdk/testing';
import { get, made, rows } from './support.js';

const apiKey = 'an-api-key-0123456789';

describe('health', () => {
  let host: TestHost | undefined;
  let server: ServerProcess | undefined;
  afterEach(async () => {
    await host?.stop();
    await server?.dispose();
    host = undefined;
    server = undefined;
  });

  it('lists every shipped plugin with a state on a fresh start, the required ones active', async () => {
    const plugins = JSON.parse(await readFile(new URL('../../../../plugins.json', import.meta.url), 'utf8')) as {
      plugins: Record<string, { required?: boolean }>;
    };
    server = await startServer({ plugins });
    const listed = await rows(server);
    expect(listed.map(({ key }) => key)).to.include.members(Object.keys(plugins.plugins));
    const required = listed.filter((row) => row.required);
    expect(required.map(({ key }) => key).toSorted()).to.deep.equal(
      Object.keys(plugins.plugins)
        .filter((key) => plugins.plugins[key]?.required)
        .toSorted(),
    );
    expect(required.map(({ state }) => state)).to.deep.equal(required.map(() => 'active'));
    expect(await get(server, '/ready')).to.deep.equal({ status: 200, body: { ready: true } });
  });

  it('returns the version to everyone, and the runtime to authenticated callers', async () => {
    host = await createTestHost({ plugins: ['admin'], env: { MORTISE_API_KEY: apiKey } });
    const { version } = JSON.parse(await readFile(new URL('../../../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    expect((await get(host, '/version')).body).to.deep.equal({ version });
    expect((await get(host, '/version', { 'x-api-key': 'wrong' })).body).to.deep.equal({ version });
    const full = (await get<Record<string, unknown>>(host, '/version', { 'x-api-key': apiKey })).body;
    expect(full).to.include({ version, node: process.versions.node, sdk: version });
    expect(full).to.have.property('commit');
  });

  it('is open to everyone', async () => {
    host = await createTestHost({ plugins: ['admin'], env: { MORTISE_API_KEY: apiKey } });
    for (const path of ['/healthz', '/ready', '/version']) expect((await get(host, path)).status, path).to.equal(200);
    expect((await get(host, '/healthz')).body).to.deep.equal({ ok: true });
  });

  it('is not ready while a required plugin is not active, and names it', async () => {
    host = await createTestHost({
      plugins: ['admin'],
      extra: [
        made('needed', {
          start: () => {
            throw new Error('no');
          },
        }),
      ],
      required: ['admin', 'needed'],
    });
    expect(await get(host, '/ready')).to.deep.equal({
      status: 503,
      body: { ready: false, waiting: [{ key: 'needed', state: 'failed', code: 'start_failed' }] },
    });
    expect((await get(host, '/healthz')).status).to.equal(200);
  });

  it('responds without a valid plugins.json, and names it', async () => {
    const folder = temporaryFolder('broken');
    const file = join(folder, 'broken.json');
    await writeFile(file, '{"version": 1, "plugins": {');
    server = await startServer({ env: { MORTISE_PLUGINS_FILE: file } });
    expect(await get(server, '/healthz')).to.deep.equal({ status: 200, body: { ok: true } });
    expect((await get(server, '/version')).body).to.have.property('version');
    expect(await get(server, '/ready')).to.deep.equal({
      status: 503,
      body: { ready: false, waiting: [{ key: 'plugins.json', state: 'failed', code: 'plugins_file_invalid' }] },
    });
    await writeFile(file, '{"version": 1, "plugins": {}}');
    await until(async () => (await get(server as ServerProcess, '/ready')).status === 200);
  });

  it('responds while no plugin is active, this one neither, and a plugin cannot take its routes', async () => {
    const routes = [{ name: 'mine', kind: 'http' as const, method: 'GET', path: '/healthz', auth: 'public' as const }];
    host = await createTestHost({
      plugins: ['admin'],
      disabled: ['admin'],
      extra: [made('takes-health', { manifest: { permissions: { routes } } })],
      required: ['admin'],
    });
    expect(host.control.list().map(({ key, state, code }) => `${key} ${state} ${code}`)).to.include.members([
      'admin disabled null',
      'takes-health blocked route_reserved',
    ]);
    expect(await get(host, '/healthz')).to.deep.equal({ status: 200, body: { ok: true } });
    expect(await get(host, '/ready')).to.deep.equal({
      status: 503,
      body: { ready: false, waiting: [{ key: 'admin', state: 'disabled', code: null }] },
    });
  });

  it('raises an alert and has a finding when the database is full', async () => {
    host = await createTestHost({ plugins: ['admin'] });
    const database = host.app.database.forPlugin('probe', ['probe']);
    await database.statement('create table probe_notes (text text)');
    await database.statement('pragma max_page_count = 1');
    const writing = database.statement('insert into probe_notes (text) values (?)', ['x'.repeat(1_000_000)]);
    expect(await writing.catch(database.codec.errorKind)).to.equal('full');
    const { findings } = (await get<{ findings: Finding[] }>(host, '/admin/plugins/doctor')).body;
    expect(findings[0]).to.include({ severity: 'error', code: 'database_full' });
    expect(host.logs.filter((line) => line.includes('"database_full"'))).to.have.length(1);
    expect(await get(host, '/ready')).to.deep.equal({
      status: 503,
      body: { ready: false, waiting: [{ key: 'database', state: 'failed', code: 'database_full' }] },
    });
  });

  it('has a finding when the database is not writable', async () => {
    host = await createTestHost({ plugins: ['admin'] });
    const probe = host.app.database.forPlugin('probe', []);
    expect((await get(host, '/admin/plugins/doctor')).body).to.deep.equal({ findings: [] });
    await probe.statement('pragma query_only = on');
    const { findings } = (await get<{ findings: Finding[] }>(host, '/admin/plugins/doctor')).body;
    await probe.statement('pragma query_only = off');
    expect(findings.map(({ severity, code }) => `${severity} ${code}`)).to.deep.equal([
      'warning database_takes_no_writes',
    ]);
  });

  it('has a finding while a PostgreSQL server is down, and none once it is back', async () => {
    if (!testDialects().includes('postgres')) return;
    const server = await ownPostgres();
    try {
      const url = `postgres://postgres:a-password-word@127.0.0.1:${server.port}/postgres`;
      host = await createTestHost({ plugins: ['admin', 'logbook'], database: { DATABASE_URL: url } });
      const found = async () =>
        (await get<{ findings: Finding[] }>(host as TestHost, '/admin/plugins/doctor')).body.findings;
      await server.stop();
      const [first] = await found();
      expect(first).to.include({ severity: 'error', code: 'database_unreachable' });
      expect([first?.message, first?.fix].join()).to.include(String(server.port)).and.to.include('DATABASE_URL');
      expect(first?.message).not.to.include('a-password-word');
      await server.start();
      await until(async () => (await found()).length === 0);
    } finally {
      await host?.stop();
      host = undefined;
      await server.dispose();
    }
  });

  it('is not ready while the database does not respond', async () => {
    host = await createTestHost({ plugins: ['admin'] });
    await host.app.database.close();
    const { status, body } = await get<{ waiting: { key: string; code: string }[] }>(host, '/ready');
    expect([status, body.waiting]).to.deep.equal([
      503,
      [{ key: 'database', state: 'failed', code: 'database_unavailable' }],
    ]);
  });
});
