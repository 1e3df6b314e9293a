import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { AuditRow } from 'mortise/contracts/logbook';
import type { Finding } from 'mortise/sdk';
import { createTestHost, type TestHost, temporaryFolder, until } from 'mortise/sdk/testing';
import { codeOf, get, made, rowOf, send } from './support.js';

describe('the audit of admin changes', () => {
  let host: TestHost;
  afterEach(async () => {
    await mayWrite(true);
    await host.stop();
  });

  /** A database that takes no write, as on a full disk. */
  const mayWrite = (may: boolean): Promise<unknown> =>
    host.app.database.forPlugin('probe', []).statement(`pragma query_only = ${may ? 'off' : 'on'}`);
  const reported = async (): Promise<readonly string[]> =>
    (await host.service('audit').query({ limit: 100 })).rows.map(
      ({ operation, action, status, reason }: AuditRow) => `${operation} ${action} ${status} ${reason}`,
    );

  it('comes first: a change that cannot be audited is refused', async () => {
    host = await createTestHost({ plugins: ['admin', 'logbook'], extra: [made('one')] });
    const { revision } = (await get<{ revision: number }>(host, '/admin/plugins')).body;
    await mayWrite(false);
    const refused = await send(host, '/admin/plugins/one/disable');
    expect([refused.status, codeOf(refused)]).to.deep.equal([503, 'audit_unavailable']);
    const after = await rowOf(host, 'one');
    expect([after?.desired, after?.state]).to.deep.equal(['enabled', 'active']);
    expect((await get<{ revision: number }>(host, '/admin/plugins')).body.revision).to.equal(revision);
    await mayWrite(true);
    expect(await reported()).to.deep.equal([]);
  });

  it('is settled later when only the outcome could not be written, and never reports a refusal', async () => {
    const stop = async (): Promise<void> => void (await mayWrite(false));
    host = await createTestHost({ plugins: ['admin', 'logbook'], extra: [made('one', { stop }), made('two')] });
    const done = await send(host, '/admin/plugins/one/disable');
    expect([done.status, done.body.state]).to.deep.equal([200, 'disabled']);
    expect(await reported()).to.deep.equal(['admin:disable allow pending admin:asked']);
    await mayWrite(true);
    await until(async () => (await reported()).includes('admin:disable allow success admin:done'));
    await send(host, '/admin/plugins/two/disable');
    expect(await reported()).to.deep.equal(Array(2).fill('admin:disable allow success admin:done'));
  });

  it('is settled once the trail is back when the change itself stopped it', async () => {
    host = await createTestHost({ plugins: ['admin', 'logbook'] });
    expect((await send(host, '/admin/plugins/logbook/disable')).status).to.equal(200);
    expect((await send(host, '/admin/plugins/logbook/enable')).status).to.equal(200);
    await until(async () => (await reported()).includes('admin:disable allow success admin:done'));
    expect(await reported()).to.have.members([
      'admin:disable allow success admin:done',
      'admin:enable allow success admin:done',
    ]);
  });

  it('is settled as unknown when the process of the change has crashed', async () => {
    const options = { plugins: ['admin', 'logbook'], dataDir: temporaryFolder('audit') };
    host = await createTestHost(options);
    await host.service('audit').write({
      operation: 'admin:disable',
      principal: 'local',
      action: 'allow',
      reason: 'admin:asked',
      status: 'pending',
    });
    await get(host, '/admin/plugins');
    expect(await reported()).to.deep.equal(['admin:disable allow pending admin:asked']);
    await host.stop();
    host = await createTestHost(options);
    await until(async () => (await reported()).includes('admin:disable allow failed admin:outcome_unknown'));
  });

  it('does not prevent a change when the last good copy of plugins.json cannot be written', async () => {
    host = await createTestHost({ plugins: ['admin', 'logbook'], extra: [made('one')] });
    const copy = join(host.dataDir, 'data', 'plugins.last-good.json');
    await rm(copy);
    await mkdir(copy);
    const done = await send(host, '/admin/plugins/one/disable');
    expect([done.status, done.body.state, done.body.desired]).to.deep.equal([200, 'disabled', 'disabled']);
    const { findings } = (await get<{ findings: Finding[] }>(host, '/admin/plugins/doctor')).body;
    expect(findings.map(({ code }) => code)).to.include('plugins_copy_failed');
    expect(host.logs.join('')).to.include('plugins_copy_failed');
  });
});
