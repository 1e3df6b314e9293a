import { expect } from 'chai';
import type { PluginPlan } from 'mortise/sdk';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';
import { made, type Refused, rows, send } from './support.js';

describe('wrong bodies of the admin routes', () => {
  let host: TestHost;
  before(async () => {
    host = await createTestHost({ plugins: ['admin', 'logbook'], extra: [made('one')] });
  });
  after(() => host.stop());

  const toggles: readonly unknown[] = [
    [],
    'x',
    7,
    true,
    { cascade: 'yes' },
    { cascade: null },
    { revision: '1' },
    { revision: 1.5 },
    { revision: null },
  ];
  for (const body of toggles) {
    it(`are refused by every toggle: ${JSON.stringify(body)}`, async () => {
      const before = await rows(host);
      for (const action of ['enable', 'disable', 'restart', 'release', 'export']) {
        const path = action === 'export' ? '/admin/plugins/export' : `/admin/plugins/one/${action}`;
        const refused = await send<Refused>(host, path, JSON.stringify(body));
        expect([action, refused.status, refused.body.error.code]).to.deep.equal([action, 400, 'invalid_request']);
      }
      expect(await rows(host)).to.deep.equal(before);
    });
  }

  it('may be left out', async () => {
    for (const body of [undefined, '', 'null', '{}']) {
      const response = await host.fetch('/admin/plugins/one/enable', {
        method: 'POST',
        ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
      });
      expect([body, response.status]).to.deep.equal([body, 200]);
    }
  });

  const plans: readonly [unknown, string][] = [
    [null, '/changes'],
    [[], '/changes'],
    [{}, '/changes'],
    [{ changes: {} }, '/changes'],
    [{ changes: [null] }, '/changes/0/key'],
    [{ changes: [{ key: 7 }] }, '/changes/0/key'],
    [{ changes: [{ key: 'one' }, { key: 'one', enabled: 'yes' }] }, '/changes/1/enabled'],
    [{ changes: [{ key: 'one', config: 7 }] }, '/changes/0/config'],
    [{ changes: [{ key: 'one', bind: 7 }] }, '/changes/0/bind'],
    [{ changes: [{ key: 'one', order: 1 }] }, '/changes/0/order'],
  ];
  for (const [body, path] of plans) {
    it(`are refused by the plan, with the place: ${JSON.stringify(body)}`, async () => {
      const refused = await send<Refused>(host, '/admin/plugins/plan', JSON.stringify(body));
      expect([refused.status, refused.body.error.code]).to.deep.equal([400, 'invalid_request']);
      expect(refused.body.error.details).to.deep.equal({ path });
    });
  }

  it('are refused by the host when they are not JSON, of another type, or too large', async () => {
    for (const [body, type, status] of [
      ['{"a":', 'application/json', 400],
      ['{}', 'text/plain', 415],
      [JSON.stringify({ a: 'x'.repeat(5 * 1024 * 1024) }), 'application/json', 413],
    ] as const) {
      const response = await host.fetch('/admin/plugins/one/disable', {
        method: 'POST',
        headers: { 'content-type': type },
        body,
      });
      expect([type, response.status]).to.deep.equal([type, status]);
    }
    expect((await rows(host)).find(({ key }) => key === 'one')?.state).to.equal('active');
  });

  it('with a plan change nothing', async () => {
    const before = await rows(host);
    const changes = [{ key: 'one', enabled: false }];
    expect((await send<PluginPlan>(host, '/admin/plugins/plan', { changes })).body.stops).to.deep.equal(['one']);
    expect(await rows(host)).to.deep.equal(before);
  });
});
