import { expect } from 'chai';
import type { Delivery, MemoryService } from 'mortise/contracts/memory-gateway';
import { eachDatabase, type TestEngine, until } from 'mortise/sdk/testing';
import { OutboxWorker } from '../worker/outbox-worker.js';
import { type OutboxHost, startOutbox } from './outbox-host.js';
import { workerParts } from './worker-parts.js';

describe('a backend that takes many memories at once', () => {
  eachDatabase((engine: TestEngine) => {
    let outbox: OutboxHost;
    let groups: number[];
    beforeEach(async () => {
      outbox = await startOutbox(engine);
      groups = [];
    });
    afterEach(() => outbox.stop());

    const adds = () => outbox.server.requests.filter(({ call }) => call === 'add').length;

    /** The platform's own backend, as one that takes many: what becomes of a group is up to the test. */
    const worker = (config: object = {}, become = (answers: readonly Delivery[]) => answers): OutboxWorker => {
      const parts = workerParts(outbox);
      const deliverMany: MemoryService['deliverMany'] = async (items, options) => {
        groups.push(items.length);
        return become(await parts.memory.deliverMany(items, options));
      };
      const memory = { ...parts.memory, storesMany: async () => true, deliverMany };
      return new OutboxWorker({ ...parts, config: { ...parts.config, ...config }, memory }, 'grouped');
    };

    it('gets a whole batch at once', async () => {
      for (let n = 0; n < 5; n += 1) await outbox.queue(`Row ${n}`);
      const before = adds();
      expect(await worker().runOnce()).to.deep.include({ claimed: 5, sent: 5 });
      expect(groups).to.deep.equal([5]);
      expect(adds() - before).to.equal(5);
      await outbox.expectInvariants();
    });

    it('gets at most one batch per call, however many rows are claimed together', async () => {
      for (let n = 0; n < 5; n += 1) await outbox.queue(`Row ${n}`);
      const running = worker({ batch_size: 2 });
      running.start(60_000);
      // The fifth goes alone.
      await until(() => running.total.sent === 5);
      await running.stop(1_000);
      expect(groups).to.deep.equal([2, 2]);
      expect(running.total).to.deep.include({ claimed: 5, sent: 5, conflicts: 0, errors: 0 });
      await outbox.expectInvariants();
    });

    it('gets them one by one when it fails for all, and none twice that it has after all', async () => {
      const ids = [await outbox.queue('First.'), await outbox.queue('Second.')];
      const failed: Delivery = {
        kind: 'failed',
        class: 'failure',
        detail: 'api_error_500',
        message: 'it failed',
        applied: 'unknown',
        retryAfterMs: null,
        mergedInto: null,
      };
      const failing = worker({}, (answers) => answers.map(() => failed));
      expect(await failing.runOnce()).to.deep.include({ claimed: 2, sent: 2 });
      expect(outbox.server.journal.map(({ content }) => content).sort()).to.deep.equal(['First.', 'Second.']);
      for (const id of ids) expect(await outbox.outboxRow(id)).to.deep.include({ status: 'sent' });
      await outbox.expectInvariants();
    });
  });
});
