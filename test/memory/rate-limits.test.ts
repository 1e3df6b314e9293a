import { expect } from 'chai';
import { answerOf, type Json } from 'mortise/contracts/memory-gateway/testing';
import { createTestHost, eachDatabase, type TestHost, until } from 'mortise/sdk/testing';
import { memoryPlugins } from './memory-host.js';

describe('the rate limit of requests', () => {
  it('applies to deep health, which is public and asks every dependency, and not to plain health', async () => {
    const host = await createTestHost({ plugins: memoryPlugins, env: { MORTISE_RATE_LIMIT: '2/3600' } });
    try {
      const status = async (path: string) => (await host.fetch(path)).status;
      for (const expected of [200, 200, 429]) expect(await status('/health?deep=1')).to.equal(expected);
      for (let call = 0; call < 5; call += 1) expect(await status('/health')).to.equal(200);
      const refused = await host.fetch('/health?deep=1');
      expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 3_600);
      expect(await refused.json()).to.deep.include({ ok: false, reason: 'RATE_LIMITED' });
    } finally {
      await host.stop();
    }
  });
});

describe('the rate limit of a tool', () => {
  eachDatabase(
    (engine) => {
      let host: TestHost;
      before(async () => {
        const limits = {
          memory_query: '3/3600',
          memory_store: '1/3600',
          reliability_report: '1/3600',
          governance_update: '1/3600',
        };
        const env = { MORTISE_TOOL_RATE_LIMITS: JSON.stringify(limits) };
        host = await createTestHost({ plugins: memoryPlugins, env, database: engine.env });
      });
      after(() => host.stop());

      const query = { query: 'a', spaces: ['private:me'] };
      const store = { payload_md: 'Once.', target_space: 'private:me' };
      const call = (name: string, args: Json) =>
        host.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });

      it('is shared by all endpoints', async () => {
        const legacy = { tool: 'memory_query', arguments: query };
        const served = [
          await host.post('/memory/query', query),
          await call('memory_query', query),
          await host.post('/mcp', legacy),
        ];
        expect(served.map(({ status }) => status)).to.deep.equal([200, 200, 200]);
        const refused = [
          await host.post('/memory/query', query),
          await call('memory_query', query),
          await host.post('/mcp', legacy),
        ];
        expect(refused.map(({ status }) => status)).to.deep.equal([429, 429, 429]);
        for (const { headers } of refused) expect(Number(headers.get('retry-after'))).to.be.within(1, 3_600);
        const [rest, rpc, older] = await Promise.all(refused.map(answerOf));
        expect(rest?.body)
          .to.include({ ok: false, reason: 'RATE_LIMITED' })
          .and.have.any.keys('correlation_id', 'detail');
        expect(rest?.body.details).to.have.property('retry_after_ms');
        expect(rpc?.body.error).to.include({ code: -32001 }).and.have.nested.property('data.reason', 'RATE_LIMITED');
        expect(older?.body).to.include({ ok: false, reason: 'RATE_LIMITED' });
      });

      it('applies to each REST route, and a refused call has no effect', async () => {
        expect((await host.post('/memory/store', store)).status).to.equal(200);
        expect((await host.post('/memory/store', { ...store, payload_md: 'Twice.' })).status).to.equal(429);
        const first = await host.fetch('/reliability/report');
        expect([first.status, (await host.fetch('/reliability/report')).status]).to.deep.equal([200, 429]);
        const governance = () => host.post('/governance/settings/update', { team_write_enabled: true });
        expect([(await governance()).status, (await governance()).status]).to.deep.equal([200, 429]);
        const { rows } = await host.service('audit').query({ reasonPrefix: 'governance' });
        expect(rows.length).to.be.at.most(1);
      });

      it('writes an audit row', async () => {
        const found = async () =>
          (await host.service('audit').query({ reasonPrefix: 'rate_limited:memory_query' })).rows;
        await until('the audit row', async () => (await found()).length > 0);
        expect((await found())[0]).to.deep.include({ action: 'reject', reason: 'rate_limited:memory_query' });
      });
    },
    { keepRows: true },
  );
});
