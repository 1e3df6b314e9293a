import { expect } from 'chai';
import { answerOf, type MemoryHost } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase, until } from 'mortise/sdk/testing';
import { type DatabaseProxy, startDatabaseProxy } from './database-proxy.js';
import { memoryPlugins, startMemory } from './memory-host.js';

describe('memories without a database', () => {
  eachDatabase(
    (engine) => {
      if (engine.dialect === 'sqlite') return; // A file cannot be unreachable.
      let memory: MemoryHost;
      let proxy: DatabaseProxy;
      before(async () => {
        const { DATABASE_HOST = '', DATABASE_PORT } = engine.env;
        proxy = await startDatabaseProxy(DATABASE_HOST, Number(DATABASE_PORT));
        const env = { ...engine.env, DATABASE_HOST: '127.0.0.1', DATABASE_PORT: String(proxy.port) };
        memory = await startMemory(engine, { database: env, plugins: [...memoryPlugins, 'memory-outbox'] });
      });
      after(async () => {
        await memory.stop();
        await proxy.disconnect().catch(() => {});
      });

      it('are refused on every endpoint, and work again when the database is back', async () => {
        const body = { payload_md: 'While it was down', target_space: 'private:down' };
        await proxy.disconnect();

        const stored = await memory.store(body);
        expect(stored.status).to.equal(503);
        expect(stored.headers.get('retry-after')).to.equal('2');
        expect(stored.body).to.deep.include({
          ok: false,
          action: 'error',
          memory_id: null,
          reason: 'LOGBOOK_DB_UNAVAILABLE',
        });

        for (const [tool, args] of [
          ['memory_store', body],
          ['memory_query', { query: 'down', spaces: ['private:down'] }],
          ['reliability_report', {}],
          ['governance_update', { admin_key: 'any', team_write_enabled: true }],
          ['evidence_upload', { content: 'down', content_type: 'text/plain' }],
        ] as const) {
          const { error } = await memory.call(tool, args);
          expect(error, tool).to.include({ code: -32001 });
          expect(error?.data, tool).to.deep.include({
            category: 'dependency',
            reason: 'LOGBOOK_DB_UNAVAILABLE',
            retryable: true,
            details: { service: 'database' },
          });
        }

        const queried = await memory.query({ query: 'down', spaces: ['private:down'] });
        expect(queried.status).to.equal(503);
        expect(queried.body).to.deep.include({ ok: false, results: [], total: 0, degraded: true });

        const report = await memory.get('/reliability/report');
        expect(report.status).to.equal(503);
        expect(report.body).to.deep.include({ ok: false, outbox_stats: {}, audit_stats: {}, generated_at: '' });

        const governed = await answerOf(await memory.host.post('/governance/settings/update', { admin_key: 'any' }));
        expect(governed.status).to.equal(503);
        expect(governed.body).to.deep.include({ ok: false, action: 'error', settings: null });
        for (const path of ['/memory/audit', '/memory/outbox']) {
          const answer = await memory.get(path);
          expect(answer.status, path).to.equal(503);
          // The address of the database must not be disclosed.
          expect(JSON.stringify(answer.body), path).to.not.match(/ECONN|127\.0\.0\.1/);
        }

        expect((await memory.get('/health')).status).to.equal(200);
        const deep = await memory.get('/health?deep=1');
        expect(deep.status).to.equal(503);
        expect(deep.body).to.deep.include({ ok: false, status: 'error' });

        await proxy.reconnect();
        let again = await memory.store(body);
        await until('the database answers', async () => {
          if (again.status !== 200) again = await memory.store(body);
          return again.status === 200;
        });
        expect(again.body).to.deep.include({ ok: true, action: 'allow', dedup: false });
      });
    },
    { keepRows: true },
  );
});
