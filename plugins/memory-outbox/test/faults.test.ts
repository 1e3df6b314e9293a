import { expect } from 'chai';
import type { FakeFault } from 'mortise/contracts/memory-backend-openmemory/testing';
import { eachDatabase, type TestEngine, until } from 'mortise/sdk/testing';
import { type OutboxHost, startOutbox } from './outbox-host.js';

/** What the backend does to one request that would store, and what the memory comes to. */
const faults: Readonly<Record<string, { readonly fault: FakeFault; readonly end: 'sent' | 'dead' }>> = {
  'answers 500': { fault: { kind: 'status', status: 500 }, end: 'sent' },
  'applies and answers 500': { fault: { kind: 'status', status: 500, apply: true }, end: 'sent' },
  'answers 503': { fault: { kind: 'status', status: 503 }, end: 'sent' },
  'does not answer': { fault: { kind: 'hang' }, end: 'sent' },
  'applies and does not answer': { fault: { kind: 'hang', apply: true }, end: 'sent' },
  'cuts the connection': { fault: { kind: 'reset' }, end: 'sent' },
  'applies and cuts the connection': { fault: { kind: 'reset', apply: true }, end: 'sent' },
  'cuts its answer short': { fault: { kind: 'truncate' }, end: 'sent' },
  'answers what is no JSON': { fault: { kind: 'malformed' }, end: 'sent' },
  'names no id': { fault: { kind: 'missing-id' }, end: 'sent' },
  'says itself that it failed': { fault: { kind: 'success-false' }, end: 'sent' },
  'answers with another memory in its place': { fault: { kind: 'merge' }, end: 'dead' },
  'answers with the id of another memory, and does not say so': { fault: { kind: 'merge', silent: true }, end: 'dead' },
  'refuses it': { fault: { kind: 'status', status: 422 }, end: 'dead' },
};

/** Of a request, and of a call of the worker. */
const limits = { MORTISE_OPENMEMORY_TIMEOUT_MS: '1000', MORTISE_OPENMEMORY_WORKER_TIMEOUT_SECONDS: '2' };

describe('a memory whose backend', () => {
  eachDatabase((engine: TestEngine) => {
    let outbox: OutboxHost;
    beforeEach(async () => {
      outbox = await startOutbox(engine, { env: limits });
      await outbox.store('Was there before.');
    });
    afterEach(() => outbox.stop());

    const copies = (text: string) =>
      outbox.server.journal.filter((entry) => entry.as === 'stored' && entry.content === text).length;

    /** As often as it takes, without the waits. */
    const deliver = async (id: number): Promise<void> => {
      for (let round = 0; round < 4 && (await outbox.outboxRow(id)).status === 'pending'; round += 1) {
        await outbox.due(id);
        await outbox.deliver();
      }
    };

    const expectEnd = async (id: number, text: string, end: 'sent' | 'dead'): Promise<void> => {
      const row = await outbox.outboxRow(id);
      expect(row).to.deep.include({ status: end, lockedBy: null });
      expect(row.lastError).to.be.a('string').and.not.equal('');
      expect(copies(text)).to.equal(end === 'sent' ? 1 : 0);
      const flushed = end === 'sent' ? 'allow outbox_flush_success' : 'reject outbox_flush_dead';
      expect((await outbox.trail(id)).filter((entry) => entry === flushed)).to.have.length(1);
      const where = `payload_md = '${text}' and state ${end === 'sent' ? `= 'active'` : `in ('dead', 'merged')`}`;
      expect(await outbox.count('logbook.memories', where)).to.equal(1);
      await outbox.expectInvariants();
    };

    for (const [what, { fault, end }] of Object.entries(faults)) {
      it(`${what} is neither lost nor doubled`, async () => {
        outbox.server.fail('add', fault, ...(fault.kind === 'status' && fault.status === 503 ? [fault] : []));
        const stored = await outbox.store('Met it when it came in.');
        expect(stored).to.deep.include({ ok: false, action: 'redirect' });
        const first = Number(stored.outbox_id);
        await deliver(first);
        await expectEnd(first, 'Met it when it came in.', end);

        const second = await outbox.queue('Met it when it was delivered.');
        outbox.server.fail('add', fault);
        await deliver(second);
        await expectEnd(second, 'Met it when it was delivered.', end);
      });
    }

    it('is slow is stored when it is', async () => {
      outbox.server.fail('add', { kind: 'slow', ms: 150 });
      expect(await outbox.store('Took its time.')).to.deep.include({ ok: true, action: 'allow' });
      expect(copies('Took its time.')).to.equal(1);
    });

    it('is slower than the time limit of its caller is found to have done its work', async () => {
      const own = await startOutbox(engine, { env: { ...limits, MORTISE_OUTBOX_WORKER: 'true' } });
      try {
        own.server.fail('add', { kind: 'slow', ms: 1_500 });
        const { outbox_id } = await own.store('Given up, and done.');
        await until(async () => (await own.outboxRow(Number(outbox_id))).status === 'sent');
        const begun = own.server.requests.filter(({ call }) => call === 'add').length;
        await until(() => own.server.journal.length === begun);
        expect(own.server.journal.map(({ as, content }) => [as, content])).to.deep.equal([
          ['stored', 'Given up, and done.'],
        ]);
      } finally {
        await own.stop();
      }
    });

    it('answers that it has the same one already is stored once', async () => {
      const there = outbox.server.put({ content: 'Same.', metadata: { space: 'private:a' } });
      outbox.server.fail('add', { kind: 'merge', into: there.id });
      const answer = await outbox.store('Same.');
      expect(answer).to.deep.include({ ok: true, memory_id: there.id, dedup: true });
      expect(copies('Same.')).to.equal(1);
    });

    it('fails while it is looked for is looked for again', async () => {
      outbox.server.fail('add', { kind: 'reset', apply: true });
      const id = Number((await outbox.store('In doubt.')).outbox_id);
      outbox.server.fail('search', { kind: 'truncate' }, { kind: 'status', status: 500 }, { kind: 'reset' });
      for (let round = 0; round < 3; round += 1) {
        await outbox.due(id);
        await outbox.deliver();
        expect(await outbox.outboxRow(id)).to.deep.include({ status: 'pending', verifyFirst: true });
      }
      await deliver(id);
      await expectEnd(id, 'In doubt.', 'sent');
    });

    it('is down is delivered when it is back', async () => {
      await outbox.server.stop();
      const id = Number((await outbox.store('Later.')).outbox_id);
      await outbox.due(id);
      await outbox.deliver();
      await outbox.server.start();
      await deliver(id);
      await expectEnd(id, 'Later.', 'sent');
    });
  });
});
