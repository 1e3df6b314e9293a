import { expect } from 'chai';
import { type FakeOpenMemory, startFakeOpenMemory } from 'mortise/contracts/memory-backend-openmemory/testing';
import type { Database } from 'mortise/sdk';
import { createTestHost, databaseProbe, eachDatabase, type TestEngine, type TestHost } from 'mortise/sdk/testing';

describe('queries answered by OpenMemory', () => {
  eachDatabase((engine: TestEngine) => {
    let server: FakeOpenMemory;
    let host: TestHost;
    let database: Database;

    beforeEach(async () => {
      server = await startFakeOpenMemory({ dialect: 'search' });
      const probe = databaseProbe(['analysis']);
      host = await createTestHost({
        plugins: ['memory-gateway', 'memory-backend-openmemory'],
        extra: [probe.plugin],
        env: { OPENMEMORY_BASE_URL: server.origin },
        database: engine.env,
      });
      database = probe.database;
    });
    afterEach(async () => {
      await host.stop();
      await server.stop();
    });

    interface Answer {
      readonly ok: boolean;
      readonly degraded: boolean;
      readonly message: string | null;
      readonly total: number;
      readonly results: readonly { readonly id: string; readonly content: string }[];
    }
    const query = async (body: object): Promise<Answer> =>
      (await (await host.post('/memory/query', body)).json()) as Answer;
    const put = (content: string, space: string) => server.put({ content, metadata: { space } });

    it('contain nothing of other spaces', async () => {
      put('The port is Shanghai.', 'team:a');
      put('The port is a secret.', 'private:bob');
      server.put({ content: 'The port without a space.' });
      const { results, total, degraded } = await query({ query: 'port', spaces: ['team:a'] });
      expect(results.map(({ content }) => content)).to.deep.equal(['The port is Shanghai.']);
      expect({ total, degraded }).to.deep.equal({ total: 1, degraded: false });
    });

    it('use knowledge candidates while OpenMemory is unavailable', async () => {
      await database.statement(
        `insert into {analysis.knowledge_candidates} (kind, title, content_md) values ('FACT', 'Ports', 'Shanghai is a port.')`,
      );
      server.failAlways('search', { kind: 'status', status: 503 });
      const { ok, degraded, message, results } = await query({ query: 'shanghai', spaces: ['team:default'] });
      expect({ ok, degraded }).to.deep.equal({ ok: true, degraded: true });
      expect(message).to.equal('Degraded query (memory backend unavailable): OpenMemory API error: 503');
      expect(results[0]?.id).to.match(/^kc_\d+$/);
    });

    const causes: readonly [string, () => void, RegExp][] = [
      ['is down', () => void server.stop(), /OpenMemory connection failed: [A-Z_]+$/],
      ['refuses', () => server.failAlways('any', { kind: 'status', status: 400 }), /OpenMemory API error: 400$/],
      ['is broken', () => server.failAlways('search', { kind: 'malformed' }), /invalid response/],
      ['says it failed', () => server.failAlways('search', { kind: 'success-false' }), /invalid response/],
      ['hangs', () => server.failAlways('any', { kind: 'hang' }), /OpenMemory request timed out$/],
    ];
    for (const [what, happen, cause] of causes) {
      it(`are degraded when it ${what}`, async () => {
        happen();
        const { ok, degraded, message } = await query({ query: 'shanghai', spaces: ['team:a'] });
        expect({ ok, degraded }).to.deep.equal({ ok: true, degraded: true });
        expect(message).to.match(cause);
        expect(message).to.not.contain(server.origin);
      });
    }

    it('report an outage in the deep health check', async () => {
      const look = async () => (await (await host.fetch('/health?deep=1')).json()) as Record<string, unknown>;
      expect(await look()).to.deep.include({ ok: true, status: 'ok' });
      await server.stop();
      expect(await look()).to.deep.include({ ok: true, status: 'degraded' });
    });
  });
});
