import { expect } from 'chai';
import { createTestHost, type TestHost, until } from 'mortise/sdk/testing';
import { made, rowOf, send } from './support.js';

describe('a plugin that fails again and again', () => {
  let host: TestHost;
  afterEach(() => host.stop());

  it('is quarantined with its last error after five faults, alone, and starts again when it is released', async () => {
    let failures = 0;
    let repaired = false;
    const faulty = made('faulty', {
      start: (own) => {
        own.every(5, () => {
          if (repaired || failures >= 5) return;
          failures += 1;
          throw new Error(`the belt came off (${failures})`);
        });
      },
    });
    host = await createTestHost({ plugins: ['admin', 'logbook'], extra: [faulty, made('other')] });
    await until(async () => (await rowOf(host, 'faulty'))?.state === 'quarantined');
    const row = await rowOf(host, 'faulty');
    expect(row).to.include({ desired: 'enabled', code: 'repeated_faults' });
    expect(row?.message).to.contain('the belt came off (5)');
    expect(row?.hint).to.contain('release');
    expect((await rowOf(host, 'other'))?.state).to.equal('active');

    repaired = true;
    const released = await send(host, '/admin/plugins/faulty/release');
    expect([released.status, released.body.state]).to.deep.equal([200, 'active']);
  });
});
