import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import { type ReconcileHost, startReconcile } from './reconcile-host.js';

interface Figures {
  readonly count: number;
  readonly missing_audit: number;
  readonly fixed: number;
  readonly rescheduled: number;
}

interface Report {
  readonly total_scanned: number;
  readonly sent: Figures;
  readonly dead: Figures;
  readonly stale: Figures;
  readonly invariants: readonly { readonly id: string; readonly ok: boolean }[];
}

describe('reconciling outbox and audit trail', () => {
  eachDatabase((engine: TestEngine) => {
    let books: ReconcileHost;

    beforeEach(async () => {
      books = await startReconcile(engine);
    });
    afterEach(() => books.stop());

    const ago = (seconds: number) => books.database.codec.time(Date.now() - seconds * 1_000);
    const sent = () => books.insert({ status: 'sent', memory_id: 'om-1' });
    const dead = () => books.insert({ status: 'dead', last_error: 'refused' });
    const stale = (lockedAt = ago(660)) => books.insert({ locked_by: 'gone', locked_at: lockedAt });
    const once = (options = {}) => books.reconcile({ once: true, ...options });
    const report = async (options = {}) => (await once(options)).data as Report;

    it('says in five lines that nothing is wrong where nothing is', async () => {
      const { exitCode, text, data } = await once();
      expect(exitCode).to.equal(0);
      expect(text.split('\n')).to.deep.equal([
        '=== Outbox Reconcile Report ===',
        'Total scanned: 0',
        '  - sent:  0 (missing audit: 0, fixed: 0)',
        '  - dead:  0 (missing audit: 0, fixed: 0)',
        '  - stale: 0 (missing audit: 0, fixed: 0, rescheduled: 0)',
      ]);
      const file = new URL('../../../../schemas/reconcile_report_v1.schema.json', import.meta.url);
      const schema = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
      expect(books.schemaIssues(schema, data)).to.deep.equal([]);
    });

    it('counts the unsettled audit rows of others, and not its own', async () => {
      const unsettled = { action: 'allow', operation: 'test', reason: 'test:asked', status: 'pending' } as const;
      await books.host.service('audit').write(unsettled);
      const body = { options: { once: true }, json: true };
      const answer = await books.host.post('/admin/commands/memory-reconcile', body);
      const { data } = (await answer.json()) as { data: { pending_audits: { count: number } } };
      expect(await books.count('governance.write_audit', `operation = 'admin:command'`)).to.equal(1);
      expect(data.pending_audits.count).to.equal(1);
    });

    it('makes up for the audit rows of sent and dead rows, once', async () => {
      const [one, two] = [await sent(), await dead()];
      expect(await books.reconcile({ report: true })).to.deep.include({ exitCode: 1 });
      expect(await once({ autoFix: false })).to.deep.include({ exitCode: 1 });
      expect(await books.count('governance.write_audit')).to.equal(0);
      expect(await report()).to.deep.include({
        total_scanned: 2,
        sent: { count: 1, missing_audit: 1, fixed: 1 },
        dead: { count: 1, missing_audit: 1, fixed: 1 },
      });
      expect(await books.trail(one)).to.deep.equal(['allow outbox_flush_success']);
      expect(await books.trail(two)).to.deep.equal(['reject outbox_flush_dead']);
      const { rows } = await books.host.service('audit').query({ outboxId: String(one) });
      expect(rows[0]).to.deep.include({ operation: 'outbox_reconcile' });
      expect(rows[0]?.evidence).to.deep.include({ source: 'reconcile_outbox', memory_id: 'om-1' });
      expect(rows[0]?.evidence.extra).to.deep.include({ reconciled: true });
      const again = await once();
      expect(again.exitCode).to.equal(0);
      expect(again.data).to.deep.include({ sent: { count: 1, missing_audit: 0, fixed: 0 } });
      expect(await books.count('governance.write_audit')).to.equal(2);
      expect((await books.host.service('audit').verify()).ok).to.equal(true);
    });

    it('frees rows whose holder is gone, and says so for each lease', async () => {
      const id = await stale();
      const first = await once();
      expect(first.exitCode).to.equal(0);
      expect(first.data).to.deep.include({ stale: { count: 1, missing_audit: 1, fixed: 1, rescheduled: 1 } });
      const row = await books.host.service('logbook').outbox.get(id);
      expect(row).to.deep.include({ status: 'pending', lockedBy: null, lockedAt: null, retryCount: 0 });
      expect((await report()).stale).to.deep.include({ count: 0, rescheduled: 0 });
      await books.update('update {logbook.outbox_memory} set locked_by = ?, locked_at = ?', 'gone', ago(700));
      expect((await report()).stale).to.deep.include({ count: 1, missing_audit: 1, fixed: 1, rescheduled: 1 });
      expect(await books.trail(id)).to.deep.equal(['redirect outbox_stale', 'redirect outbox_stale']);
      const { invariants } = await report();
      expect(invariants.find((one) => one.id === '3')).to.deep.include({ ok: true });
    });

    it('releases a row that was already reported without reporting it again', async () => {
      const id = await stale();
      expect((await report({ reschedule: false })).stale).to.deep.equal({
        count: 1,
        missing_audit: 1,
        fixed: 1,
        rescheduled: 0,
      });
      expect(await books.count('logbook.outbox_memory', 'locked_by is not null')).to.equal(1);
      expect((await report()).stale).to.deep.equal({ count: 1, missing_audit: 0, fixed: 0, rescheduled: 1 });
      expect(await books.trail(id)).to.have.length(1);
    });

    const onServer = engine.dialect === 'postgres' ? it : undefined; // SQLite's times are texts.
    onServer?.('knows a lease with microseconds again', async () => {
      const id = await stale();
      await books.update(`update {logbook.outbox_memory} set locked_at = locked_at + interval '456 microseconds'`);
      expect((await report({ reschedule: false })).stale).to.deep.include({ missing_audit: 1 });
      expect((await report()).stale).to.deep.include({ missing_audit: 0, rescheduled: 1 });
      expect(await books.trail(id)).to.have.length(1);
    });

    it('delays the next attempt on request', async () => {
      const id = await stale();
      await once({ rescheduleDelay: '300' });
      const row = await books.host.service('logbook').outbox.get(id);
      expect(Date.parse(row?.nextAttemptAt ?? '') - Date.now()).to.be.within(290_000, 301_000);
    });

    it('leaves fresh leases, free rows and rows outside of the window alone, and counts what it looked at', async () => {
      await stale(ago(30));
      await books.insert({});
      await sent();
      await books.insert({ status: 'sent', memory_id: 'x', updated_at: ago(25 * 3_600) });
      const { data } = await books.reconcile({ report: true });
      expect(data).to.deep.include({
        total_scanned: 3,
        stale: { count: 0, missing_audit: 0, fixed: 0, rescheduled: 0 },
      });
      expect(((await books.reconcile({ report: true, staleThreshold: '10' })).data as Report).stale.count).to.equal(1);
      expect(((await books.reconcile({ report: true, scanWindow: '48' })).data as Report).sent.count).to.equal(2);
    });

    it('finds the first fault, and all faults when it may continue', async () => {
      for (let n = 0; n < 7; n += 1) await sent();
      await once({ batchSize: '3' });
      expect(await books.count('governance.write_audit')).to.equal(3);
      const { exitCode, data } = await once({ batchSize: '2', untilClean: true });
      expect(exitCode).to.equal(0);
      // At least the four that were fixed were checked, though no round took more than two.
      expect((data as Report).sent).to.deep.equal({ count: 4, missing_audit: 4, fixed: 4 });
      expect((await report()).sent).to.deep.equal({ count: 7, missing_audit: 0, fixed: 0 });
    });

    it('counts each row once, however many rounds look at it', async () => {
      await sent();
      await sent();
      await dead();
      await stale();
      await books.insert({});
      const { exitCode, data, text } = await once({ untilClean: true });
      expect(exitCode).to.equal(0);
      expect(data).to.deep.include({
        total_scanned: 5,
        sent: { count: 2, missing_audit: 2, fixed: 2 },
        dead: { count: 1, missing_audit: 1, fixed: 1 },
        stale: { count: 1, missing_audit: 1, fixed: 1, rescheduled: 1 },
      });
      expect(text).to.contain('Total scanned: 5');
      expect((data as { details: readonly unknown[] }).details).to.have.length(4);
      const again = await once({ untilClean: true });
      expect(again.data).to.deep.include({ total_scanned: 5, sent: { count: 2, missing_audit: 0, fixed: 0 } });
    });

    it('reports a row once that stays locked because locked rows are to be skipped', async () => {
      await stale();
      const { exitCode, data } = await once({ untilClean: true, reschedule: false });
      expect(exitCode).to.equal(0);
      expect(data).to.deep.include({
        total_scanned: 1,
        stale: { count: 1, missing_audit: 1, fixed: 1, rescheduled: 0 },
      });
    });

    it('is not confused by odd values in the audit trail', async () => {
      const id = await sent();
      for (const odd of ['x', null, [id], { id }, `${id} `, -id]) {
        await books.host.service('audit').write({
          action: 'allow',
          operation: 'test',
          reason: 'outbox_flush_success',
          evidence: { outbox_id: odd },
        });
      }
      expect((await report()).sent).to.deep.equal({ count: 1, missing_audit: 1, fixed: 1 });
    });

    it('fixes nothing twice when two run at once', async () => {
      for (let n = 0; n < 10; n += 1) await sent();
      for (let n = 0; n < 5; n += 1) await stale();
      await Promise.all([once(), once(), once()]);
      expect(await books.count('governance.write_audit', `reason = 'outbox_flush_success'`)).to.equal(10);
      expect(await books.count('governance.write_audit', `reason = 'outbox_stale'`)).to.equal(5);
    });

    it('throws its own error without the text of the database when it cannot finish', async () => {
      const [from, to] =
        engine.dialect === 'sqlite'
          ? ['logbook_outbox_memory', 'logbook_outbox_hidden']
          : ['logbook.outbox_memory', 'outbox_hidden'];
      const back =
        engine.dialect === 'sqlite' ? ['logbook_outbox_hidden', from] : ['logbook.outbox_hidden', 'outbox_memory'];
      await books.update(`alter table ${from} rename to ${to}`);
      const failed = await books.reconcile({ report: true }).catch((error: unknown) => error);
      await books.update(`alter table ${back[0]} rename to ${back[1]}`);
      expect(failed).to.include({ code: 'reconcile_failed', message: 'The reconciliation failed; see the log.' });
    });

    it('rejects contradictory options', async () => {
      for (const options of [
        {},
        { once: true, report: true },
        { once: true, batchSize: '0' },
        { once: true, batchSize: '1.5' },
        { report: true, scanWindow: 'day' },
      ]) {
        expect((await books.reconcile(options)).exitCode, JSON.stringify(options)).to.equal(2);
      }
    });
  });
});
