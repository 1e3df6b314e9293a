import { expect } from 'chai';
import { eachDatabase, silentLog, type TestEngine } from 'mortise/sdk/testing';
import { createSettlements } from '../../gateway.js';
import { finishWrite } from '../../write/finish-write.js';
import type { BegunWrite } from '../../write/settle-write.js';
import { type RemoteHost, startRemote, writingMemory } from './remote-host.js';

describe('a write that has begun', () => {
  eachDatabase((engine: TestEngine) => {
    let remote: RemoteHost;
    beforeEach(async () => {
      remote = await startRemote(engine, { listen: false });
    });
    afterEach(() => remote.stop());

    const TEXT = 'The harbour opens at five.';

    const begin = async (): Promise<BegunWrite> => {
      const intended = { action: 'allow', reason: 'policy:private_space' } as const;
      const entry = { ...intended, operation: 'memory_store', status: 'pending', memoryKey: 'mk_held' } as const;
      const auditId = await remote.host.service('audit').write(entry);
      const memory = writingMemory(TEXT, { memoryKey: 'mk_held', auditId });
      await remote.host.service('logbook').ledger.insert([memory]);
      return { auditId, intended, memory, requestedSpace: 'private:a', principal: 'anna' };
    };

    const finish = (write: BegunWrite, millisecondsAgo: number) =>
      finishWrite(write, performance.now() - millisecondsAgo, {
        logbook: remote.host.service('logbook'),
        audit: remote.host.service('audit'),
        backend: remote.host.service('memory'),
        config: { store_timeout_ms: 5_000 },
        settlements: createSettlements(remote.database),
        inFlight: new Set(),
        log: silentLog,
      });

    it('is sent', async () => {
      expect(await finish(await begin(), 0)).to.deep.include({ kind: 'stored', memoryId: 'om-1' });
      expect(await remote.ledger(TEXT)).to.deep.include({ state: 'active' });
    });

    it('goes to the outbox unsent when another process may have settled it', async () => {
      expect(await finish(await begin(), 8_000)).to.deep.include({ kind: 'outbox', isDead: false });
      expect(remote.server.requests.filter(({ call }) => call === 'add')).to.have.length(0);
      const { state, outbox_id } = await remote.ledger(TEXT);
      expect(state).to.equal('queued');
      expect(await remote.host.service('logbook').outbox.get(outbox_id ?? 0)).to.deep.include({
        status: 'pending',
        verifyFirst: false,
        payload: TEXT,
      });
    });

    it('keeps the outcome that another process has settled', async () => {
      const write = await begin();
      const outcome = { status: 'success', ...write.intended, patch: { memory_id: 'om-9' } } as const;
      await remote.host.service('audit').finalize(write.auditId, outcome);
      const delivered = { memoryKey: 'mk_held', backend: 'openmemory', backendMemoryId: 'om-9', dropsPayload: false };
      await remote.host.service('logbook').ledger.activate([delivered]);
      expect(await finish(write, 8_000)).to.deep.include({ kind: 'stored', memoryId: 'om-9' });
      expect(remote.server.requests.filter(({ call }) => call === 'add')).to.have.length(0);
      expect(await remote.count('logbook.outbox_memory')).to.equal(0);
    });

    it('is answered as redirected when recovery put it into the outbox, though the backend has it by now', async () => {
      const write = await begin();
      const outcome = { status: 'redirected', action: 'redirect' } as const;
      const reason = 'OPENMEMORY_WRITE_FAILED:recovered_after_crash';
      const { logbook, audit } = {
        logbook: remote.host.service('logbook'),
        audit: remote.host.service('audit'),
      };
      const outboxId = await logbook.outbox.enqueueMemory({
        ...write.memory,
        payload: TEXT,
        requestedSpace: 'private:a',
        principal: 'anna',
        status: 'pending',
        lastError: 'lost',
        lastErrorClass: 'unavailable',
        verifyFirst: true,
        delaySeconds: 3_600,
      });
      await audit.finalize(write.auditId, { ...outcome, reason, patch: { outbox_id: outboxId } });
      await logbook.ledger.queue('mk_held', outboxId);
      const delivered = { memoryKey: 'mk_held', backend: 'openmemory', backendMemoryId: 'om-9', dropsPayload: false };
      await logbook.ledger.activate([delivered]);
      const finished = await finish(write, 0);
      expect(finished).to.deep.include({ kind: 'outbox', outboxId });
      expect(finished).to.have.nested.property('failed.detail', 'recovered_after_crash');
      expect(await audit.get(write.auditId)).to.deep.include({ action: 'redirect', reason });
    });
  });
});
