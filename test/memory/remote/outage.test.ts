import { expect } from 'chai';
import type { Json } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import { results } from '../memory-host.js';
import { type RemoteMemory, startRemoteMemory } from './remote-memory.js';

const TEXT = 'The harbour opens at five.';
const evidence = [{ type: 'log', uri: 'https://example.org/port', sha256: 'f'.repeat(64), page: 3 }];
const rich = {
  payload_md: TEXT,
  target_space: 'private:a',
  kind: 'FACT',
  meta_json: { pier: [1, { deep: null }] },
  evidence,
  actor_user_id: 'alice',
};

describe('a memory stored while the backend is down', () => {
  eachDatabase(
    (engine: TestEngine) => {
      let memory: RemoteMemory;
      let stored: Json;
      let outboxId: number;
      before(async () => {
        memory = await startRemoteMemory(engine);
        await memory.host.service('logbook').users.add('alice');
        await memory.server.stop();
      });
      after(() => memory.stop());

      const trail = async () => {
        const { rows } = await memory.host.service('audit').query({ outboxId: String(outboxId) });
        return [...rows].reverse();
      };

      // The longest wait of a caller with the default limits.
      it('is in the outbox within six seconds, and the result reports that', async () => {
        const answer = await memory.store(rich);
        stored = answer.body;
        expect(stored).to.deep.include({
          ok: false,
          action: 'redirect',
          outbox_status: 'pending',
          memory_id: null,
          space_written: null,
        });
        expect(stored.outbox_id).to.satisfy(Number.isInteger);
        outboxId = Number(stored.outbox_id);
        expect(stored.message).to.contain(`outbox_id=${outboxId}`);
        const [audit, ...others] = await memory.audits(answer);
        expect(others).to.deep.equal([]);
        expect(audit).to.deep.include({ action: 'redirect', reason: 'OPENMEMORY_WRITE_FAILED:connection_error' });
        expect(audit?.evidence.outbox_id).to.equal(outboxId);
        const { invariants } = (await memory.get('/reliability/report')).body;
        expect((invariants as readonly Json[]).filter(({ ok }) => ok !== true)).to.deep.equal([]);
      });

      it('is found while the backend is still down', async () => {
        const answer = await memory.query({ query: 'harbour', spaces: ['private:a'] });
        expect(answer.body).to.deep.include({ ok: true, degraded: true });
        expect(results(answer).map(({ content }) => content)).to.deep.equal([TEXT]);
      });

      it('is delivered completely once the backend is back', async () => {
        await memory.server.start();
        expect(await memory.deliver()).to.deep.include({ exitCode: 0 });
        const row = await memory.outboxRow(outboxId);
        expect(row).to.deep.include({ status: 'sent' });
        expect(row.lastError).to.contain('memory_id=');
        const flushed = (await trail()).at(-1);
        expect(flushed).to.deep.include({ action: 'allow', reason: 'outbox_flush_success' });
        expect(flushed?.evidence.outbox_id).to.equal(outboxId);
        const [kept, ...others] = [...memory.server.memories.values()];
        expect(others).to.deep.equal([]);
        expect(kept?.content).to.equal(TEXT);
        const { meta_json, kind, actor_user_id, target_space: space } = rich;
        expect(kept?.metadata).to.deep.include({ ...meta_json, kind, actor_user_id, evidence, space });
        expect(kept?.metadata.correlation_id).to.equal(stored.correlation_id);
      });

      it('is a dead letter if the backend rejects it permanently, and is not sent again', async () => {
        const answer = await memory.storeUnder({ kind: 'status', status: 400 }, 'Refused for good.');
        expect(answer.body).to.deep.include({ ok: false, action: 'redirect', outbox_status: 'dead' });
        const reasons = (await memory.audits(answer)).map(({ action, reason }) => `${action} ${reason}`);
        expect(reasons).to.have.members(['redirect OPENMEMORY_WRITE_FAILED:api_error_400', 'reject outbox_flush_dead']);
        const before = memory.server.requests.length;
        expect((await memory.deliver()).data).to.deep.include({ claimed: 0 });
        expect(memory.server.requests.length).to.equal(before);
        expect(await memory.outboxRow(answer.body.outbox_id)).to.deep.include({ status: 'dead' });
      });
    },
    { keepRows: true },
  );
});
