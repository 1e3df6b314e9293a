import { expect } from 'chai';
import { until } from 'mortise/sdk/testing';
import { type GatewayHost, startGateway } from './gateway-host.js';

describe('the health of the memory gateway', () => {
  let gateway: GatewayHost;
  before(async () => {
    gateway = await startGateway({ env: {} });
  });
  after(() => gateway.stop());

  it('does not wait long for a memory backend that hangs, and reports it', async () => {
    gateway.fake.hangs = true;
    const began = performance.now();
    const deep = await gateway.get('/health?deep=1');
    gateway.fake.hangs = false;
    expect(performance.now() - began).to.be.lessThan(8_000);
    expect([deep.status, deep.body.status]).to.deep.equal([200, 'degraded']);
    expect(deep.body.checks).to.have.nested.property('memory_backend.ok', false);
    expect(deep.body.checks).to.have.nested.property('database.ok', true);
  });

  it('reports that the database cannot be written, and checks only for deep=1', async () => {
    await gateway.database.statement('pragma query_only = on');
    try {
      const deep = await gateway.get('/health?deep=1');
      expect([deep.status, deep.body.status]).to.deep.equal([503, 'error']);
      expect(deep.body.checks).to.have.nested.property('database.detail').that.includes('cannot be written');
      expect((await gateway.get('/health')).status).to.equal(200);
    } finally {
      await gateway.database.statement('pragma query_only = off');
    }
    const well = await gateway.get('/health?deep=1');
    expect(well.body.checks).to.deep.include({ database: { ok: true, detail: 'ready' } });
  });

  it('reports a backend that does not exist, and the ones that do', async () => {
    const other = await startGateway({ env: { MORTISE_MEMORY_BACKEND: 'nope' } });
    try {
      const deep = await other.get('/health?deep=1');
      expect([deep.status, deep.body.status]).to.deep.equal([200, 'degraded']);
      const reported = /^There is no memory backend "nope" \(MORTISE_MEMORY_BACKEND\); known: .*fake/;
      expect(deep.body.checks).to.have.nested.property('memory_backend.detail').that.matches(reported);
      const lines = () => other.host.logs.map((line): { level: string; msg: string } => JSON.parse(line));
      const warnings = () => lines().filter(({ level, msg }) => level === 'warn' && reported.test(msg));
      await until('it is warned of', () => warnings().length > 0);
      expect(warnings()).to.have.length(1);
      const { health } = await other.host.control.inspect('memory-gateway');
      expect(health?.detail).to.match(reported);
    } finally {
      await other.stop();
    }
  });
});
