import { expect } from 'chai';
import type { Json } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase } from 'mortise/sdk/testing';
import { type RemoteMemory, startRemoteMemory } from './remote-memory.js';

describe('the invariants, checked by SQL', () => {
  eachDatabase(
    (engine) => {
      let memory: RemoteMemory;
      before(async () => {
        memory = await startRemoteMemory(engine, { env: { MORTISE_OPENMEMORY_TIMEOUT_MS: '5000' } });
        const { server } = memory;
        // Rows of every kind: stored, duplicate, redirected, refused, waiting, dead, delivered and lost.
        for (let n = 0; n < 3; n += 1) {
          await memory.store({ payload_md: `Stored ${n}.`, target_space: 'private:a' });
          await memory.store({ payload_md: `Stored ${n}.`, target_space: 'private:a' });
          await memory.store({ payload_md: `Redirected ${n}.` });
          await memory.store({ payload_md: 'Refused.', target_space: 'foo:bar' });
          await memory.storeUnder({ kind: 'status', status: 400 }, `Dead ${n}.`);
          await memory.storeUnder({ kind: 'reset', apply: true }, `Perhaps ${n}.`);
          await memory.storeUnder({ kind: 'success-false' }, `Waits ${n}.`);
        }
        server.fail('add', { kind: 'status', status: 500 }, null, { kind: 'status', status: 422 });
        await memory.deliver();
        const [first] = server.memories.keys();
        server.lose(first ?? '');
        await memory.run('memory-reconcile', [], { once: true, checkBackend: true, repairBackend: true });
      });
      after(() => memory.stop());

      /** Table names as an operator types them: on SQLite with an underscore. */
      const sql = async <Row extends object = Json>(text: string, bindings: readonly string[] = []) => {
        const named = engine.dialect === 'sqlite' ? text.replace(/\b(governance|logbook)\./g, '$1_') : text;
        return (await memory.database.statement<Row>(named, bindings)).rows;
      };
      const outboxOf = (alias: string) =>
        engine.dialect === 'sqlite'
          ? `CAST(${alias}evidence_refs_json->>'outbox_id' AS TEXT)`
          : `${alias}evidence_refs_json->>'outbox_id'`;

      it('a redirect row for every row of the outbox', async () => {
        const [row] = await sql<{ difference: number; rows: number }>(
          `SELECT (SELECT count(*) FROM governance.write_audit WHERE action='redirect' AND reason LIKE 'OPENMEMORY_%')
             - (SELECT count(*) FROM logbook.outbox_memory WHERE status IN ('pending','sent','dead')) AS difference,
             (SELECT count(*) FROM logbook.outbox_memory) AS rows`,
        );
        expect(row).to.deep.equal({ difference: 0, rows: 10 });
      });

      it('an allow row for each delivery, and a reject row for each dead letter', async () => {
        const unaudited = (status: string, action: string, reasons: string) =>
          sql(`SELECT * FROM logbook.outbox_memory o WHERE o.status = '${status}' AND NOT EXISTS (
                 SELECT 1 FROM governance.write_audit a WHERE ${outboxOf('a.')} = CAST(o.outbox_id AS TEXT)
                 AND a.action = '${action}' AND a.reason IN (${reasons}))`);
        expect(await sql(`SELECT 1 AS one FROM logbook.outbox_memory WHERE status = 'sent'`)).to.have.length.above(2);
        expect(await sql(`SELECT 1 AS one FROM logbook.outbox_memory WHERE status = 'dead'`)).to.have.length.above(2);
        expect(await unaudited('sent', 'allow', `'outbox_flush_success', 'outbox_flush_dedup_hit'`)).to.deep.equal([]);
        expect(await unaudited('dead', 'reject', `'outbox_flush_dead'`)).to.deep.equal([]);
      });

      it('one outbox_stale row for each lease that was taken over', async () => {
        const old = memory.database.codec.time(Date.now() - 660_000);
        await sql(
          `UPDATE logbook.outbox_memory SET locked_by = 'gone', locked_at = ?, next_attempt_at = ? WHERE status = 'pending'`,
          [old, old],
        );
        const before = await sql(`SELECT outbox_id FROM logbook.outbox_memory WHERE locked_by = 'gone'`);
        expect(before.length).to.be.above(0);
        await memory.deliver();
        const stale = await sql(`SELECT audit_id FROM governance.write_audit WHERE reason = 'outbox_stale'`);
        expect(stale).to.have.length(before.length);
      });

      it('the same counts in the report', async () => {
        const rows = await sql<{ action: string; n: number }>(
          'SELECT action, count(*) AS n FROM governance.write_audit GROUP BY action',
        );
        const counts = Object.fromEntries(rows.map(({ action, n }) => [action, n]));
        const total = rows.reduce((sum, { n }) => sum + n, 0);
        const { body } = await memory.get('/reliability/report');
        const stats = body.audit_stats as Record<string, number>;
        expect(stats).to.deep.include({ ...counts, total });
        expect(stats.success_rate).to.equal((counts.allow ?? 0) / total);
        expect(body.message).to.equal(null);
      });

      it('all rows of an outbox id, found by an index', async () => {
        const [row] = await sql<{ id: string }>(
          `SELECT CAST(outbox_id AS TEXT) AS id FROM logbook.outbox_memory WHERE status = 'sent' ORDER BY outbox_id LIMIT 1`,
        );
        const text = `SELECT reason FROM governance.write_audit WHERE ${outboxOf('')} = ? ORDER BY audit_id`;
        const reasons = (await sql<{ reason: string }>(text, [row?.id ?? ''])).map(({ reason }) => reason);
        expect(reasons[0]).to.match(/^OPENMEMORY_/);
        expect(reasons.at(-1)).to.equal('outbox_flush_success');
        const plan = await sql(
          `EXPLAIN ${engine.dialect === 'sqlite' ? 'QUERY PLAN ' : ''}${text.replace('?', `'1'`)}`,
        );
        // PostgreSQL scans a small table sequentially, whatever indexes it has.
        if (engine.dialect === 'sqlite') expect(JSON.stringify(plan)).to.contain('governance_audit_outbox');
      });
    },
    { keepRows: true },
  );
});
