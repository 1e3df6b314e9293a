import { expect } from 'chai';
import { exchangeCheck, readDescription } from 'mortise/contracts/openapi/testing';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import { type OutboxHost, startOutbox } from './outbox-host.js';

describe('looking after the outbox', () => {
  eachDatabase((engine: TestEngine) => {
    let outbox: OutboxHost;

    beforeEach(async () => {
      outbox = await startOutbox(engine);
    });
    afterEach(() => outbox.stop());

    const deadLetter = async (text: string): Promise<number> => {
      outbox.server.fail('add', { kind: 'status', status: 400 });
      return Number((await outbox.store(text)).outbox_id);
    };
    const manage = (args: readonly string[], options = {}) => outbox.run('memory-outbox', args, options);

    it('lists and shows rows', async () => {
      const [waiting, dead] = [await outbox.queue('Waits.'), await deadLetter('Is dead.')];
      const ids = async (options = {}) => {
        const { data } = await manage(['list'], options);
        return (data as { rows: { outbox_id: number }[] }).rows.map(({ outbox_id }) => outbox_id);
      };
      expect(await ids()).to.deep.equal([dead, waiting]);
      expect(await ids({ status: 'dead' })).to.deep.equal([dead]);
      expect(await ids({ space: 'private:b' })).to.deep.equal([]);
      expect(await ids({ limit: '1' })).to.deep.equal([dead]);
      expect(await ids({ cursor: String(dead) })).to.deep.equal([waiting]);
      expect((await manage(['show', String(dead)])).data).to.deep.include({ status: 'dead', payload_md: 'Is dead.' });
      expect((await manage(['show', '999'])).exitCode).to.equal(1);
    });

    it('sends a dead letter again, once', async () => {
      const id = await deadLetter('Is dead.');
      expect((await manage(['retry', String(id)])).exitCode).to.equal(0);
      expect((await manage(['retry', String(id)])).exitCode).to.equal(1);
      expect(await outbox.outboxRow(id)).to.deep.include({ status: 'pending', retryCount: 0 });
      await outbox.deliver();
      expect(await outbox.outboxRow(id)).to.deep.include({ status: 'sent' });
      expect(await outbox.trail(id)).to.include('allow outbox_retry_requested');
      expect(await outbox.count('logbook.memories', `state = 'active'`)).to.equal(1);
      await outbox.expectInvariants();
    });

    it('sends all dead letters again, but none whose memory was stored meanwhile', async () => {
      const [first, second] = [await deadLetter('One.'), await deadLetter('Two.')];
      await outbox.store('Two.');
      const { exitCode, data } = await manage(['retry'], { allDead: true });
      expect(exitCode).to.equal(1);
      expect(data).to.deep.include({ retried: [first] });
      expect((data as { refused: object[] }).refused[0]).to.deep.include({
        outbox_id: second,
        code: 'memory_stored_again',
      });
      expect((await outbox.outboxRow(second)).status).to.equal('dead');
    });

    it('rejects contradictory options', async () => {
      const wrong: readonly [string, readonly string[], object][] = [
        ['memory-outbox', [], {}],
        ['memory-outbox', ['show'], {}],
        ['memory-outbox', ['retry', 'x'], {}],
        ['memory-outbox', ['retry', '1'], { allDead: true }],
        ['memory-outbox-worker', [], {}],
        ['memory-outbox-worker', [], { once: true, loop: true }],
        ['memory-outbox-worker', [], { once: true, batchSize: '0' }],
        ['memory-outbox-worker', [], { once: true, baseBackoff: 'soon' }],
        ['memory-outbox-worker', ['x'], { once: true }],
      ];
      for (const [key, args, options] of wrong) {
        expect((await outbox.run(key, args, { ...options })).exitCode, JSON.stringify([args, options])).to.equal(2);
      }
    });

    it('works over HTTP too', async () => {
      const [waiting, dead] = [await outbox.queue('Waits.'), await deadLetter('Is dead.')];
      const listed = await outbox.host.fetch('/memory/outbox?status=dead');
      expect(await listed.json()).to.deep.include({ ok: true, count: 1, next_cursor: null });
      expect((await outbox.host.fetch('/memory/outbox?status=lost')).status).to.equal(400);
      const retry = (id: number | string) => outbox.host.post(`/memory/outbox/${id}/retry`, {});
      expect((await retry(waiting)).status).to.equal(409);
      expect((await retry(999)).status).to.equal(404);
      expect((await retry('x')).status).to.equal(404);
      const done = await retry(dead);
      const path = `/memory/outbox/${dead}/retry`;
      await exchangeCheck(readDescription())({ method: 'POST', path, response: done });
      expect(await done.json()).to.deep.include({ ok: true, outbox_id: dead, status: 'pending' });
    });

    it('counts rows for the metrics', async () => {
      await outbox.queue('Waits.');
      await deadLetter('Is dead.');
      const text = await outbox.host.app.metrics.render();
      expect(text).to.match(/mortise_outbox_rows\{[^}]*status="pending"[^}]*\} 1/);
      expect(text).to.match(/mortise_outbox_rows\{[^}]*status="dead"[^}]*\} 1/);
      expect(text).to.match(/mortise_outbox_oldest_seconds(\{[^}]*\})? \d/);
      expect(text).to.match(/mortise_audit_rows_total\{[^}]*action="redirect"[^}]*\} \d/);
    });
  });
});
