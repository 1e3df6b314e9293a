import { expect } from 'chai';
import type { MemoryHost } from 'mortise/contracts/memory-gateway/testing';
import type { Finding } from 'mortise/sdk';
import { memoryPlugins, startMemory } from './memory-host.js';

describe('quarantined memory plugins', () => {
  let memory: MemoryHost;
  beforeEach(async () => {
    memory = await startMemory({ env: {} }, { plugins: ['admin', ...memoryPlugins] });
  });
  afterEach(() => memory.stop());

  const quarantine = async (key: string) => {
    const { kernel } = memory.host.app;
    for (let n = 0; n < 5; n += 1) kernel.fault(key, 'test_fault', new Error('It came off.'));
    const isQuarantined = async () => (await memory.get(`/admin/plugins/${key}`)).body.state === 'quarantined';
    while (!(await isQuarantined())) await new Promise((resolve) => setImmediate(resolve));
  };
  const findings = async () =>
    ((await memory.get('/admin/plugins/doctor')).body.findings as Finding[]).map(
      ({ severity, key, code }) => `${severity} ${key} ${code}`,
    );

  it('a quarantined backend shows in the gateway health and in doctor, and the process stays ready', async () => {
    await quarantine('memory-backend-local');
    const deep = await memory.get('/health?deep=1');
    expect(deep.body).to.deep.include({ ok: true, status: 'degraded' });
    expect(deep.body.checks).to.have.nested.property('memory_backend.ok', false);
    expect((await memory.get('/ready')).body).to.deep.equal({ ready: true });
    expect(await findings()).to.include('error memory-backend-local repeated_faults');
  });

  it('a quarantined gateway shows in doctor, while its health route is unavailable', async () => {
    await quarantine('memory-gateway');
    expect((await memory.get('/health')).status).to.equal(503);
    expect((await memory.get('/ready')).body).to.deep.equal({ ready: true });
    expect(await findings()).to.include('error memory-gateway repeated_faults');
  });
});
