import { join } from 'node:path';
import { expect } from 'chai';
import { eachDatabase, startServer, type TestEngine, until } from 'mortise/sdk/testing';
import { OutboxWorker } from '../worker/outbox-worker.js';
import { type OutboxHost, startOutbox } from './outbox-host.js';
import { workerParts } from './worker-parts.js';

/** A text that is stored while the backend cuts the connection, so that it is looked for before it is sent. */
async function storeInDoubt(outbox: OutboxHost, text: string): Promise<number> {
  outbox.server.fail('add', { kind: 'reset' });
  return Number((await outbox.store(text)).outbox_id);
}

describe('a worker that stood still', () => {
  eachDatabase((engine: TestEngine) => {
    let outbox: OutboxHost;
    beforeEach(async () => {
      outbox = await startOutbox(engine);
    });
    afterEach(() => outbox.stop());

    const copies = (text: string) =>
      outbox.server.journal.filter((entry) => entry.as === 'stored' && entry.content === text).length;

    const takeOver = (): Promise<void> =>
      until(async () => {
        const { data } = await outbox.deliver({ leaseSeconds: '1', workerId: 'quick' });
        return (data as { sent: number }).sent === 1;
      });

    it('sends nothing that another took over meanwhile', async () => {
      const id = await storeInDoubt(outbox, 'Once.');
      const parts = workerParts(outbox);
      const find: typeof parts.memory.find = async (...args) => {
        const found = await parts.memory.find(...args);
        await takeOver();
        return found;
      };
      const slow = new OutboxWorker({ ...parts, memory: { ...parts.memory, find } }, 'slow');
      expect(await slow.runOnce()).to.deep.include({ claimed: 1, sent: 0, conflicts: 1 });
      expect(copies('Once.')).to.equal(1);
      expect((await outbox.trail(id)).slice(1)).to.deep.equal(['redirect outbox_stale', 'allow outbox_flush_success']);
      await outbox.expectInvariants();
    });

    it('makes sure of its rows before it sends them late', async () => {
      const id = await storeInDoubt(outbox, 'Late.');
      const parts = workerParts(outbox);
      let [ahead, renewals] = [0, 0];
      const find: typeof parts.memory.find = async (...args) => {
        ahead += 700;
        return parts.memory.find(...args);
      };
      const rows: typeof parts.logbook.outbox = {
        ...parts.logbook.outbox,
        renewLeases: (...args) => {
          renewals += 1;
          return parts.logbook.outbox.renewLeases(...args);
        },
      };
      const late = new OutboxWorker(
        {
          ...parts,
          memory: { ...parts.memory, find },
          logbook: { ...parts.logbook, outbox: rows },
          now: () => performance.now() + ahead,
        },
        'late',
      );
      expect(await late.runOnce()).to.deep.include({ claimed: 1, sent: 1 });
      expect(renewals).to.be.at.least(1);
      expect(await outbox.outboxRow(id)).to.deep.include({ status: 'sent' });
    });

    it('lets go of rows that it cannot make sure of', async () => {
      const id = await storeInDoubt(outbox, 'Not now.');
      const parts = workerParts(outbox);
      let ahead = 0;
      const find: typeof parts.memory.find = async (...args) => {
        ahead += 700;
        return parts.memory.find(...args);
      };
      const rows = { ...parts.logbook.outbox, renewLeases: () => Promise.reject(new Error('no database')) };
      const unsure = new OutboxWorker(
        {
          ...parts,
          memory: { ...parts.memory, find },
          logbook: { ...parts.logbook, outbox: rows },
          now: () => performance.now() + ahead,
        },
        'unsure',
      );
      expect(await unsure.runOnce()).to.deep.include({ claimed: 1, sent: 0, conflicts: 1 });
      expect(await outbox.outboxRow(id)).to.deep.include({ status: 'pending', lockedBy: 'unsure', verifyFirst: true });
      expect(copies('Not now.')).to.equal(0);
    });

    it('does not get a row anew that it is not done with', async () => {
      const id = await storeInDoubt(outbox, 'Still mine.');
      const { outbox: rows } = outbox.host.service('logbook');
      const wanted = { workerId: 'same', batchSize: 10, leaseSeconds: 0 };
      expect((await rows.claimOutbox(wanted)).rows).to.have.length(1);
      expect((await rows.claimOutbox({ ...wanted, except: [id] })).rows).to.have.length(0);
      await until(async () => (await rows.claimOutbox(wanted)).rows.length === 1);
    });
  });
});

describe('a clock that jumps by an hour', () => {
  eachDatabase((engine: TestEngine) => {
    let outbox: OutboxHost;
    beforeEach(async () => {
      outbox = await startOutbox(engine, { fake: { idempotent: true } });
    });
    afterEach(() => outbox.stop());

    /** What a jump of the database's clock by `hours` makes of the times that were written before it. */
    const jump = async (id: number, hours: number): Promise<void> => {
      const { nextAttemptAt, lockedAt } = await outbox.outboxRow(id);
      const moved = (time: string | null) =>
        time === null ? null : outbox.database.codec.time(Date.parse(time) - hours * 3_600_000);
      await outbox.database.statement(
        'update {logbook.outbox_memory} set next_attempt_at = ?, locked_at = ? where outbox_id = ?',
        [moved(nextAttemptAt), moved(lockedAt), id],
      );
    };
    const stored = (text: string) =>
      outbox.server.journal.filter(({ as, content }) => as === 'stored' && content === text).length;

    it('backwards delays a memory and loses none of it', async () => {
      const id = await outbox.queue('Later.');
      await jump(id, -1);
      expect((await outbox.deliver()).data).to.deep.include({ claimed: 0 });
      expect(await outbox.outboxRow(id)).to.deep.include({ status: 'pending', payload: 'Later.' });
      await jump(id, 1);
      expect((await outbox.deliver()).data).to.deep.include({ sent: 1 });
      expect([stored('Later.'), outbox.server.memories.size]).to.deep.equal([1, 1]);
      await outbox.expectInvariants();
    });

    it('forwards while a memory is sent has it sent again, and stored once', async () => {
      const id = await outbox.queue('Now.');
      const before = outbox.server.requests.length;
      outbox.server.fail('add', { kind: 'slow', ms: 1_000 });
      const sending = new OutboxWorker(workerParts(outbox), 'first').runOnce();
      await until(() => outbox.server.requests.slice(before).some(({ call }) => call === 'add'));
      await jump(id, 1);
      expect((await outbox.deliver({ workerId: 'second' })).data).to.deep.include({ sent: 1 });
      expect(await sending).to.deep.include({ claimed: 1, sent: 0, conflicts: 1 });
      expect((await outbox.trail(id)).slice(1)).to.deep.equal([
        'redirect outbox_stale',
        'allow outbox_flush_success',
        'redirect outbox_flush_conflict',
      ]);
      expect(await outbox.outboxRow(id)).to.deep.include({ status: 'sent' });
      expect([stored('Now.'), outbox.server.memories.size]).to.deep.equal([1, 1]);
      await outbox.expectInvariants();
    });
  });
});

describe('a process that is frozen while it delivers', () => {
  eachDatabase((engine: TestEngine) => {
    it('doubles nothing when it goes on', async () => {
      const other = await startOutbox(engine);
      const frozen = await startServer({
        database: engine.env,
        env: {
          MORTISE_DATA_DIR: join(other.host.dataDir, 'data'),
          OPENMEMORY_BASE_URL: other.server.origin,
          MORTISE_OUTBOX_LEASE_SECONDS: '1',
          MORTISE_OUTBOX_CONCURRENCY: '1',
          MORTISE_OUTBOX_BASE_BACKOFF: '1',
        },
      });
      const store = async (text: string): Promise<number> => {
        other.server.fail('add', { kind: 'reset' });
        const answer = await frozen.post('/memory/store', { payload_md: text, target_space: 'private:a' });
        return Number(((await answer.json()) as { outbox_id: number }).outbox_id);
      };
      try {
        // The last thing that a look for the memory asks.
        other.server.fail('list', { kind: 'slow', ms: 3_000 });
        const id = await store('Once.');
        await until(() => other.server.requests.some(({ call }) => call === 'list'));
        frozen.child.kill('SIGSTOP');
        await until(async () => {
          const { data } = await other.deliver({ leaseSeconds: '1', workerId: 'quick' });
          return (data as { sent: number }).sent === 1;
        });
        frozen.child.kill('SIGCONT');
        // It delivers one at a time: with the next one it is done with the first.
        const next = await store('Next.');
        await until(async () => (await other.outboxRow(next)).status === 'sent');
        expect(other.server.journal.map(({ content }) => content)).to.deep.equal(['Once.', 'Next.']);
        expect(await other.outboxRow(id)).to.deep.include({ status: 'sent' });
        await other.expectInvariants();
      } finally {
        frozen.child.kill('SIGCONT');
        await frozen.dispose();
        await other.stop();
      }
    });
  });
});
