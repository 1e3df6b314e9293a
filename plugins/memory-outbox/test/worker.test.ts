import { expect } from 'chai';
import type { RemoteMemoryOptions } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase, type TestEngine, until } from 'mortise/sdk/testing';
import { OutboxWorker } from '../worker/outbox-worker.js';
import { type OutboxHost, startOutbox } from './outbox-host.js';
import { workerParts } from './worker-parts.js';

/** A worker whose leases run out, because its clock stands still. */
function workerThatHangs(host: OutboxHost, workerId: string): OutboxWorker {
  return new OutboxWorker(workerParts(host), workerId);
}

describe('the outbox worker', () => {
  eachDatabase((engine: TestEngine) => {
    let outbox: OutboxHost;
    let others: OutboxHost[];

    const startOther = async (options: RemoteMemoryOptions): Promise<OutboxHost> => {
      const other = await startOutbox(engine, options);
      others.push(other);
      return other;
    };

    beforeEach(async () => {
      others = [];
      outbox = await startOutbox(engine);
    });
    afterEach(async () => {
      await Promise.all(others.map((other) => other.stop()));
      await outbox.stop();
    });

    const adds = () => outbox.server.requests.filter(({ call }) => call === 'add').length;

    it('delivers what waits, with all that belongs to it, and says so', async () => {
      await outbox.server.stop();
      const answer = await outbox.store('The harbour opens at five.', {
        kind: 'FACT',
        meta_json: { a: [1] },
        evidence: [{ uri: 'https://example.org', sha256: 'e'.repeat(64) }],
        actor_user_id: 'alice',
      });
      const id = Number(answer.outbox_id);
      await outbox.server.start();
      expect(await outbox.deliver()).to.deep.include({ exitCode: 0 });
      const row = await outbox.outboxRow(id);
      expect(row).to.deep.include({ status: 'sent', lastError: 'memory_id=om-1', memoryId: 'om-1', lockedBy: null });
      expect(row.sentAt).to.be.a('string');
      const [, flushed] = await outbox.outboxAudits(id);
      expect(flushed).to.deep.include({
        action: 'allow',
        reason: 'outbox_flush_success',
        operation: 'outbox_flush',
        actorUserId: 'alice',
        principal: 'local',
        correlationId: answer.correlation_id,
      });
      expect(flushed?.evidence).to.deep.include({ source: 'outbox_worker', outbox_id: id, memory_id: 'om-1' });
      const sent = outbox.server.journal[0];
      expect(sent?.metadata).to.deep.include({ a: [1], kind: 'FACT', actor_user_id: 'alice' });
      expect(sent?.idempotencyKey).to.equal(row.memoryKey);
      const found = await outbox.host.post('/memory/query', { query: 'harbour', spaces: ['private:unknown'] });
      expect(((await found.json()) as { results: object[] }).results[0]).to.deep.include({
        id: 'om-1',
        source: 'backend',
      });
      expect(await outbox.deliver()).to.deep.include({ exitCode: 0, text: 'Delivered 0 of 0.' });
      await outbox.expectInvariants();
    });

    it('gives up after five failures, each with a longer wait', async () => {
      const id = await outbox.queue('A');
      outbox.server.failAlways('add', { kind: 'status', status: 500 });
      for (const wait of [60, 120, 240, 480]) {
        await outbox.due(id);
        const before = Date.now();
        expect(await outbox.deliver()).to.deep.include({ exitCode: 1 });
        const seconds = (Date.parse((await outbox.outboxRow(id)).nextAttemptAt) - before) / 1_000;
        expect(seconds).to.be.within(wait * 0.7 - 2, wait * 1.3 + 2);
      }
      await outbox.due(id);
      await outbox.deliver();
      expect(await outbox.outboxRow(id)).to.deep.include({ status: 'dead', retryCount: 5, lastErrorClass: 'failure' });
      expect((await outbox.trail(id)).slice(1)).to.deep.equal([
        ...Array.from({ length: 4 }, () => 'redirect outbox_flush_retry'),
        'reject outbox_flush_dead',
      ]);
      const before = adds();
      await outbox.due(id);
      expect(await outbox.deliver()).to.deep.include({ exitCode: 0 });
      expect(adds()).to.equal(before);
      await outbox.expectInvariants();
    });

    it('waits for a backend that is down as long as that takes', async () => {
      const id = await outbox.queue('A');
      await outbox.server.stop();
      const tries = async () => (await outbox.outboxRow(id)).retryCount;
      while ((await tries()) < 20) {
        await outbox.due(id);
        const before = await tries();
        await outbox.deliver();
        if ((await tries()) > before) continue;
        // Nothing is called while the circuit is open: the rest of the night, in short.
        await outbox.database.statement(
          'update {logbook.outbox_memory} set retry_count = retry_count + 1, unavailable_count = unavailable_count + 1',
        );
      }
      expect(await outbox.outboxRow(id)).to.deep.include({ status: 'pending', retryCount: 20, unavailableCount: 20 });
      await outbox.server.start();
      await until(() => outbox.host.service('memory').status().circuit === 'closed');
      await outbox.due(id);
      expect(await outbox.deliver()).to.deep.include({ exitCode: 0 });
      expect(await outbox.outboxRow(id)).to.deep.include({ status: 'sent' });
    });

    it('moves rejected memories to the dead letters, and merged ones too', async () => {
      const refused = await outbox.queue('A');
      outbox.server.fail('add', { kind: 'status', status: 413 });
      await outbox.deliver();
      expect(await outbox.outboxRow(refused)).to.deep.include({
        status: 'dead',
        lastError: 'OpenMemory API error: 413',
      });
      const merged = await outbox.queue('B');
      const other = outbox.server.put({ content: 'Not B' });
      outbox.server.fail('add', { kind: 'merge', into: other.id });
      await outbox.deliver();
      expect(await outbox.outboxRow(merged)).to.deep.include({ status: 'dead', lastError: `merged_into:${other.id}` });
      expect(await outbox.count('logbook.memories', `state = 'merged'`)).to.equal(1);
      await outbox.expectInvariants();
    });

    it('looks for a memory whose outcome is unknown before it sends it again', async () => {
      outbox.server.fail('add', { kind: 'reset', apply: true });
      const { outbox_id } = await outbox.store('Applied without an answer.');
      expect(await outbox.outboxRow(Number(outbox_id))).to.deep.include({ verifyFirst: true });
      await outbox.deliver();
      expect(await outbox.outboxRow(Number(outbox_id))).to.deep.include({ status: 'sent', memoryId: 'om-1' });
      expect(outbox.server.journal).to.have.length(1);
      outbox.server.fail('add', { kind: 'reset' });
      const lost = Number((await outbox.store('Not applied.')).outbox_id);
      await outbox.deliver();
      expect(await outbox.outboxRow(lost)).to.deep.include({ status: 'sent' });
      expect(outbox.server.journal).to.have.length(2);
    });

    it('moves no memory to the dead letters because it may not be looked up', async () => {
      outbox.server.fail('add', { kind: 'reset', apply: true });
      const id = Number((await outbox.store('Refused as a question.')).outbox_id);
      outbox.server.fail('search', { kind: 'status', status: 400 });
      expect(await outbox.deliver()).to.deep.include({ exitCode: 1 });
      expect(await outbox.outboxRow(id)).to.deep.include({
        status: 'pending',
        lastErrorClass: 'failure',
        verifyFirst: true,
      });
      await outbox.due(id);
      await outbox.deliver();
      expect(await outbox.outboxRow(id)).to.deep.include({ status: 'sent', memoryId: 'om-1' });
      expect(outbox.server.journal).to.have.length(1);
    });

    it('waits as long as the backend asks for', async () => {
      const id = await outbox.queue('A');
      outbox.server.fail('add', { kind: 'status', status: 429, retryAfter: '600' });
      await outbox.deliver();
      const row = await outbox.outboxRow(id);
      expect(Date.parse(row.nextAttemptAt) - Date.now()).to.be.within(590_000, 601_000);
      expect(row).to.deep.include({ unavailableCount: 1, lastErrorClass: 'unavailable' });
    });

    it('acknowledges a memory that was sent before without sending it again', async () => {
      const first = await outbox.queue('Twice.');
      await outbox.deliver();
      const row = await outbox.outboxRow(first);
      const { memoryKey, space, payload, payloadSha, metaSha } = row;
      const again = await outbox.host.service('logbook').outbox.enqueueMemory({
        ...row,
        memoryKey: `${memoryKey}-2`,
        space,
        payload,
        payloadSha,
        metaSha,
        status: 'pending',
        delaySeconds: 0,
      });
      const before = adds();
      await outbox.deliver();
      expect(adds()).to.equal(before);
      expect(await outbox.outboxRow(again)).to.deep.include({ status: 'sent', memoryId: row.memoryId });
      const [hit] = await outbox.outboxAudits(again);
      expect(hit).to.deep.include({ action: 'allow', reason: 'outbox_flush_dedup_hit' });
      expect(hit?.evidence).to.deep.include({ original_outbox_id: first });
    });

    it('holds up no later row while an earlier one waits for its retry', async () => {
      const first = await outbox.queue('First');
      outbox.server.fail('add', { kind: 'status', status: 500 });
      await outbox.deliver();
      const second = await outbox.queue('Second');
      await outbox.deliver();
      expect((await outbox.outboxRow(first)).status).to.equal('pending');
      expect((await outbox.outboxRow(second)).status).to.equal('sent');
    });

    it('takes over a lease that ran out, says so, and looks first', async () => {
      const id = await outbox.queue('Slowly.');
      const { outbox: rows } = outbox.host.service('logbook');
      // The first worker takes the row, sends it, and is never heard of again.
      const claim = await rows.claimOutbox({ workerId: 'slow', batchSize: 10, leaseSeconds: 3 });
      expect(claim.rows.map(({ outboxId }) => outboxId)).to.deep.equal([id]);
      const { memoryKey } = await outbox.outboxRow(id);
      outbox.server.put({ content: 'Slowly.', metadata: { space: 'private:a', mortise_key: memoryKey } });
      const options = { leaseSeconds: '3', workerId: 'quick' };
      expect((await outbox.deliver(options)).data).to.deep.include({ claimed: 0 });
      await until(async () => ((await outbox.deliver(options)).data as { sent: number }).sent === 1);
      expect(await outbox.trail(id)).to.deep.equal([
        'redirect OPENMEMORY_WRITE_FAILED:invalid_response',
        'redirect outbox_stale',
        'allow outbox_flush_success',
      ]);
      const [, stale] = await outbox.outboxAudits(id);
      expect(stale?.evidence).to.deep.include({ original_locked_by: 'slow', worker_id: 'quick' });
      expect(stale?.evidence.original_locked_at).to.match(/^\d{4}-.*Z$/);
      expect(adds()).to.equal(1);
      expect(await outbox.outboxRow(id)).to.deep.include({ memoryId: 'om-1' });
      await outbox.expectInvariants();
    });

    it('discards the result of a late worker and records its conflict', async () => {
      const own = await startOther({ fake: { idempotent: true } });
      const id = await own.queue('Slowly.');
      own.server.fail('add', { kind: 'slow', ms: 6_000 });
      const hanging = workerThatHangs(own, 'slow').runOnce();
      await until(async () => (await own.outboxRow(id)).lockedBy === 'slow');
      const options = { leaseSeconds: '1', workerId: 'quick' };
      await until(async () => ((await own.deliver(options)).data as { sent: number }).sent === 1);
      expect(await hanging).to.deep.include({ claimed: 1, sent: 0, conflicts: 1 });
      expect((await own.trail(id)).slice(1)).to.deep.equal([
        'redirect outbox_stale',
        'allow outbox_flush_success',
        'redirect outbox_flush_conflict',
      ]);
      expect((await own.outboxAudits(id)).at(-1)?.evidence).to.deep.include({
        worker_id: 'slow',
        extra: {
          intended_action: 'success',
          observed_status: 'sent',
          observed_locked_by: null,
          observed_last_error: 'memory_id=om-1',
        },
      });
      expect(own.server.memories.size).to.equal(1);
      await own.expectInvariants();
    });

    it('renews the leases of what it works on, and lets go of what it lost', async () => {
      const own = await startOther({ env: { MORTISE_OUTBOX_WORKER: 'true', MORTISE_OUTBOX_LEASE_SECONDS: '1' } });
      own.server.failAlways('search', { kind: 'slow', ms: 1 });
      own.server.fail('add', { kind: 'success-false' }, { kind: 'slow', ms: 2_500 });
      const id = Number((await own.store('Takes its time.')).outbox_id);
      await until(async () => (await own.outboxRow(id)).status === 'sent');
      expect(await own.trail(id)).to.deep.equal([
        'redirect OPENMEMORY_WRITE_FAILED:invalid_response',
        'allow outbox_flush_success',
      ]);
      own.server.fail('add', { kind: 'success-false' }, { kind: 'hang' });
      const lost = Number((await own.store('Is taken away.')).outbox_id);
      await until(async () => (await own.outboxRow(lost)).lockedBy !== null);
      await own.database.statement(`update {logbook.outbox_memory} set locked_by = 'thief' where outbox_id = ?`, [
        lost,
      ]);
      await until(async () => (await own.trail(lost)).includes('redirect outbox_flush_conflict'));
      expect((await own.outboxRow(lost)).status).to.equal('pending');
    });

    it('leaves rows to their lease when the database fails while they are worked on', async () => {
      const id = await outbox.queue('Unlucky.');
      const parts = workerParts(outbox);
      const failing = new Error('the disk is on fire');
      const ledger = { ...parts.logbook.ledger, activate: () => Promise.reject(failing) };
      const worker = new OutboxWorker({ ...parts, logbook: { ...parts.logbook, ledger } }, 'unlucky');
      expect(await worker.runOnce()).to.deep.include({ claimed: 1, sent: 0, errors: 1 });
      expect(await outbox.outboxRow(id)).to.deep.include({ status: 'pending', lockedBy: 'unlucky', verifyFirst: true });
      expect((await outbox.trail(id)).at(-1)).to.equal('redirect outbox_flush_db_error');
      await outbox.expectInvariants();
    });

    it('delivers to the local backend what a remote one could not take', async () => {
      const id = await outbox.queue('Stays here.');
      const other = await startOther({
        env: { MORTISE_MEMORY_BACKEND: 'local' },
        server: outbox.server,
        dataDir: outbox.host.dataDir,
      });
      expect(await other.deliver()).to.deep.include({ exitCode: 0 });
      expect((await other.outboxRow(id)).memoryId).to.match(/^mem_/);
      const found = await other.host.post('/memory/query', {
        query: 'stays',
        spaces: ['private:unknown', 'private:a'],
      });
      expect(((await found.json()) as { results: object[] }).results[0]).to.deep.include({ content: 'Stays here.' });
      await other.expectInvariants();
    });

    it('never gives out a row while another of the same memory is held', async () => {
      const first = await outbox.queue('Same.');
      const row = await outbox.outboxRow(first);
      const { outbox: rows } = outbox.host.service('logbook');
      await rows.enqueueMemory({ ...row, memoryKey: 'other', status: 'pending', delaySeconds: 0 });
      const wanted = { workerId: 'one', batchSize: 1, leaseSeconds: 60 };
      expect((await rows.claimOutbox(wanted)).rows).to.have.length(1);
      expect((await rows.claimOutbox({ ...wanted, workerId: 'two' })).rows).to.have.length(0);
    });

    it('claims each row once, however many claim', async () => {
      for (let n = 0; n < 30; n += 1) await outbox.queue(`Row ${n}`);
      const { outbox: rows } = outbox.host.service('logbook');
      const claims = await Promise.all(
        Array.from({ length: 6 }, (_, n) => rows.claimOutbox({ workerId: `w${n}`, batchSize: 7, leaseSeconds: 60 })),
      );
      const ids = claims.flatMap(({ rows: claimed }) => claimed.map(({ outboxId }) => outboxId));
      expect(new Set(ids).size).to.equal(30);
      expect(ids).to.have.length(30);
    });

    it('delivers new rows immediately while a server runs', async () => {
      const other = await startOther({ env: { MORTISE_OUTBOX_WORKER: 'true' } });
      const id = await other.queue('Soon.');
      await until(async () => (await other.outboxRow(id)).status === 'sent');
    });

    it('drains immediately when the backend recovers', async () => {
      const other = await startOther({ env: { MORTISE_OUTBOX_WORKER: 'true' } });
      await other.server.stop();
      for (let n = 0; n < 7; n += 1) await other.store(`Later ${n}`);
      await until(() => other.host.service('memory').status().circuit === 'open');
      await other.server.start();
      await until(async () => (await other.count('logbook.outbox_memory', `status = 'sent'`)) === 7);
      await other.expectInvariants();
    });

    it('delivers at its start what a process that is gone was waiting to send', async () => {
      await outbox.server.stop();
      for (let n = 0; n < 7; n += 1) await outbox.store(`Later ${n}`);
      await until(() => outbox.host.service('memory').status().circuit === 'open');
      await outbox.server.start();
      const next = await startOther({
        env: { MORTISE_OUTBOX_WORKER: 'true' },
        server: outbox.server,
        dataDir: outbox.host.dataDir,
      });
      await until(async () => (await next.count('logbook.outbox_memory', `status = 'sent'`)) === 7);
    });

    it('finishes what it has begun when it is stopped, and releases the rest', async () => {
      for (let n = 0; n < 5; n += 1) await outbox.queue(`Row ${n}`);
      const other = await startOther({
        env: {
          MORTISE_OUTBOX_WORKER: 'true',
          MORTISE_OUTBOX_CONCURRENCY: '1',
          OPENMEMORY_BASE_URL: outbox.server.origin,
        },
        server: outbox.server,
        dataDir: outbox.host.dataDir,
      });
      outbox.server.failAlways('add', { kind: 'slow', ms: 300 });
      const before = adds();
      await until(() => adds() > before);
      await other.stop();
      const pending = await outbox.count('logbook.outbox_memory', `status = 'pending'`);
      const sent = await outbox.count('logbook.outbox_memory', `status = 'sent'`);
      expect(sent).to.be.at.least(1);
      expect(pending + sent).to.equal(5);
      expect(await outbox.count('logbook.outbox_memory', 'locked_by is not null')).to.equal(0);
      expect(outbox.server.journal).to.have.length(sent);
      await outbox.expectInvariants();
    });
  });
});
