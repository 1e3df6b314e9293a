import { expect } from 'chai';
import { type FakeOpenMemory, startFakeOpenMemory } from 'mortise/contracts/memory-backend-openmemory/testing';
import type { Json } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase, type ServerProcess, startServer, until } from 'mortise/sdk/testing';

const keys = ['admin', 'logbook', 'text-analysis', 'memory-gateway', 'memory-backend-openmemory', 'memory-outbox'];
const plugins = { version: 1, plugins: Object.fromEntries(keys.map((key) => [key, { enabled: true }])) };

/**
 * A process takes over the writes of another after 15 s without a heartbeat, and checks every 15 s: 30 s at most on an
 * idle machine. The test waits twice as long, because it proves only that nothing is lost or duplicated.
 */
const SETTLED_WITHIN_MS = 60_000;

describe('a server that is killed between the backend call and its commit', () => {
  eachDatabase((engine) => {
    let backend: FakeOpenMemory;
    let server: ServerProcess | undefined;
    beforeEach(async () => {
      backend = await startFakeOpenMemory();
    });
    afterEach(async () => {
      await server?.dispose();
      await backend.stop();
    });

    const start = async (folder?: string): Promise<ServerProcess> => {
      const env = { OPENMEMORY_BASE_URL: backend.origin };
      server = await startServer({ plugins, database: engine.env, env, ...(folder === undefined ? {} : { folder }) });
      return server;
    };
    const get = async (path: string) => (await (server as ServerProcess).fetch(path)).json() as Promise<Json>;
    const audits = async () => (await get('/memory/audit?operation=memory_store')).rows as readonly Json[];

    for (const [what, fault, status] of [
      ['had stored the memory: it is there once, and settled as stored', { kind: 'hang', apply: true }, 'success'],
      ['had not stored it: it is delivered, once', { kind: 'hang' }, 'redirected'],
    ] as const) {
      it(`which ${what}`, async function killed() {
        this.timeout(120_000);
        const first = await start();
        backend.fail('add', fault);
        const body = { payload_md: 'The harbour opens at five.', target_space: 'private:a', meta_json: { a: 1 } };
        const storing = first.post('/memory/store', body).then(
          () => 'answered',
          () => 'broken off',
        );
        await until(() => backend.requests.some(({ call }) => call === 'add'));
        await first.end('SIGKILL');
        expect(await storing).to.equal('broken off');

        await start(first.folder);
        const [pending] = await audits();
        expect(pending).to.deep.include({ status: 'pending', action: 'allow' });
        await until(async () => (await audits())[0]?.status === status, SETTLED_WITHIN_MS);
        await until(() => backend.memories.size === 1, SETTLED_WITHIN_MS);
        expect(await audits()).to.have.length(1);
        const [stored] = [...backend.memories.values()];
        expect(stored).to.deep.include({ content: body.payload_md });
        expect(stored?.metadata).to.deep.include({ a: 1, space: 'private:a' });

        const outbox = async () => (await get('/memory/outbox')).rows as readonly Json[];
        if (status === 'success') {
          expect((await audits())[0]?.evidence_refs_json).to.deep.include({ recovered: true, memory_id: stored?.id });
          expect(await outbox()).to.deep.equal([]);
        } else {
          expect((await audits())[0]?.reason).to.equal('OPENMEMORY_WRITE_FAILED:recovered_after_crash');
          await until(async () => (await outbox())[0]?.status === 'sent');
        }
        expect(backend.journal).to.have.length(1);
        const report = await get('/reliability/report');
        expect(report.message).to.equal(null);
        expect(report.memory_stats).to.deep.include({ total: 1, by_state: { active: 1 } });
      });
    }
  });
});
