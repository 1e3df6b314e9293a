import { expect } from 'chai';
import type { AuditService } from 'mortise/contracts/logbook';
import type { AuditEntry, Database } from 'mortise/sdk';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import { type AuditColumns, auditColumns, storedEntryOf } from '../audit/audit-row.js';
import { createAudit } from '../audit/audit-service.js';
import { CHAIN_START, nextChainSha, rowSha } from '../audit/chain.js';
import { migrations } from '../migrations/index.js';

const schemas = ['identity', 'logbook', 'scm', 'analysis', 'governance'];

function entry(change: Partial<AuditEntry> = {}): AuditEntry {
  return { action: 'allow', operation: 'test', reason: 'test:done', evidence: { n: 1 }, ...change };
}

const OTHER_TIME = '2026-01-02T03:04:05.678Z';

describe('the audit trail that somebody has altered', () => {
  eachDatabase((engine: TestEngine) => {
    let database: Database;
    let audit: AuditService;

    beforeEach(async () => {
      database = await engine.open('logbook', schemas);
      await database.migrate(migrations);
      audit = createAudit({ database, instanceId: 'me', committed: () => {} });
    });

    const tampering: [string, string, string][] = [
      ['an altered row', `update {governance.write_audit} set reason = 'test:other' where audit_id = ?`, 'row_altered'],
      [
        'an altered evidence',
        `update {governance.write_audit} set evidence_refs_json = '{}' where audit_id = ?`,
        'row_altered',
      ],
      [
        'another time',
        `update {governance.write_audit} set created_at = '${OTHER_TIME}' where audit_id = ?`,
        'row_altered',
      ],
      ['another ts', `update {governance.write_audit} set ts = '${OTHER_TIME}' where audit_id = ?`, 'row_altered'],
      [
        'another time of its last change',
        `update {governance.write_audit} set updated_at = '${OTHER_TIME}' where audit_id = ?`,
        'row_altered',
      ],
      ['a removed row', 'delete from {governance.write_audit} where audit_id = ?', 'row_missing'],
      ['a removed link', 'delete from {governance.audit_chain} where audit_id = ?', 'link_missing'],
      ['an altered link', `update {governance.audit_chain} set row_sha = 'x' where audit_id = ?`, 'link_altered'],
    ];
    for (const [what, sql, problem] of tampering) {
      it(`finds ${what}`, async () => {
        const ids = await audit.writeMany([entry(), entry(), entry()]);
        await database.statement(sql, [Number(ids[1])]);
        const found = await audit.verify();
        expect(found.ok).to.equal(false);
        expect(found.broken?.problem).to.equal(problem);
      });
    }

    /** Takes the newest audit rows away, with all of their links. */
    const cut = async (ids: readonly string[]) => {
      for (const id of ids) {
        await database.statement('delete from {governance.write_audit} where audit_id = ?', [Number(id)]);
        await database.statement('delete from {governance.audit_chain} where audit_id = ?', [Number(id)]);
      }
    };

    it('finds a chain whose end was cut off, also when it has grown since', async () => {
      const ids = await audit.writeMany([entry(), entry(), entry()]);
      await cut([...ids.slice(1), await audit.write(entry())]);
      const { broken } = await audit.verify();
      expect(broken).to.deep.equal({ writerId: 'me', seq: 2, auditId: ids[0], problem: 'truncated' });
      await audit.write(entry());
      expect((await audit.verify()).broken).to.include({ seq: 5, problem: 'link_missing' });
    });

    it('finds a chain whose head was removed to hide that', async () => {
      const [first, ...rest] = await audit.writeMany([entry(), entry()]);
      await cut(rest);
      await database.statement('delete from {governance.audit_heads} where writer_id = ?', ['me']);
      expect((await audit.verify()).broken).to.deep.equal({
        writerId: 'me',
        seq: 1,
        auditId: first,
        problem: 'head_missing',
      });
    });

    it('finds a whole chain gone, and the settlement of a row', async () => {
      const id = await audit.write(entry({ status: 'pending' }));
      await audit.finalize(id, { status: 'success', action: 'allow', reason: 'test:later' });
      await database.statement(`delete from {governance.audit_chain} where phase = 'final'`);
      expect((await audit.verify()).broken?.problem).to.equal('row_altered');
      await cut([id]);
      expect((await audit.verify()).broken).to.include({ seq: 1, auditId: '', problem: 'truncated' });
    });

    it('finds another time of a settlement, and what is no time at all', async () => {
      const id = await audit.write(entry({ status: 'pending' }));
      await audit.finalize(id, { status: 'success', action: 'allow', reason: 'test:later' });
      expect((await audit.verify()).ok).to.equal(true);
      // To the time at which it was made, without the wait.
      await database.statement(`update {governance.write_audit} set updated_at = '${OTHER_TIME}'`);
      expect((await audit.verify()).broken).to.include({ auditId: id, problem: 'row_altered' });
      if (engine.dialect === 'postgres') return; // Its columns hold times alone.
      await database.statement(`update {governance.write_audit} set ts = 'soon'`);
      expect((await audit.verify()).broken).to.include({ auditId: id, problem: 'row_altered' });
    });

    it('finds a chain that was computed anew', async () => {
      const id = await audit.write(entry());
      await database.statement(`update {governance.write_audit} set reason = 'test:other'`);
      const { rows } = await database.statement<AuditColumns>(`select ${auditColumns} from {governance.write_audit}`);
      const [altered] = rows.map((row) => rowSha(id, storedEntryOf(database, row)));
      await database.statement('update {governance.audit_chain} set row_sha = ?, chain_sha = ?', [
        altered ?? '',
        nextChainSha(CHAIN_START, altered ?? ''),
      ]);
      expect((await audit.verify()).broken).to.include({ seq: 1, problem: 'link_altered' });
    });

    it('finds a row that the product did not write', async () => {
      await audit.write(entry());
      await database.statement(`insert into {governance.write_audit} (action) values ('allow')`);
      expect((await audit.verify()).broken?.problem).to.equal('not_chained');
    });
  });
});
