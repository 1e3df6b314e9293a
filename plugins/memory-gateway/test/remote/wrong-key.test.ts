import { expect } from 'chai';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import { startRemote } from './remote-host.js';

describe('a remote backend that rejects the key', () => {
  eachDatabase((engine: TestEngine) => {
    for (const dialect of ['query', 'search'] as const) {
      it(`is unhealthy while memories wait for it, in the dialect ${dialect}`, async () => {
        const remote = await startRemote(engine, {
          plugins: ['memory-gateway', 'memory-backend-openmemory', 'memory-outbox'],
        });
        remote.server.setDialect(dialect);
        const deep = async () => {
          const { status, body } = await remote.get('/health?deep=1');
          const { memory_backend } = body.checks as { memory_backend: { ok: boolean; detail: string } };
          return { http: status, ok: body.ok, status: body.status, memory_backend };
        };
        const store = async (text: string) =>
          (await remote.store({ payload_md: text, target_space: 'private:a' })).body;
        try {
          const well = { http: 200, ok: true, status: 'ok', memory_backend: { ok: true, detail: 'ready' } };
          expect(await deep()).to.deep.equal(well);
          remote.server.failAlways('add', { kind: 'status', status: 401 });
          // From the first on, and still when the circuit is open, however often its health is asked for.
          for (let stored = 1; stored <= 6; stored += 1) {
            expect(await store(`Memory ${stored}`)).to.deep.include({ ok: false, outbox_status: 'pending' });
            const held = await deep();
            expect(held).to.deep.include({ http: 200, ok: true, status: 'degraded' });
            expect(held.memory_backend.ok).to.equal(false);
            expect(held.memory_backend.detail).to.contain('rejects requests: OpenMemory API error: 401');
          }
          expect((await remote.get('/reliability/report')).body)
            .to.have.nested.property('backend.circuit')
            .not.equal('closed');
          remote.server.clearFaults();
          await deep();
          expect(await store('With the right key')).to.deep.include({ ok: true, action: 'allow' });
          expect(await deep()).to.deep.equal(well);
        } finally {
          await remote.stop();
        }
      });
    }
  });
});
