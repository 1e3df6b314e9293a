import { expect } from 'chai';
import { eachDatabase } from 'mortise/sdk/testing';
import { type AuditColumns, auditColumns, storedEntryOf } from '../audit/audit-row.js';
import { createAudit } from '../audit/audit-service.js';
import { CHAIN_START, nextChainSha, rowSha } from '../audit/chain.js';
import { migrations } from '../migrations/index.js';

const schemas = ['identity', 'logbook', 'scm', 'analysis', 'governance'];

describe('an audit trail from before the times of its rows were hashed', () => {
  eachDatabase((engine) => {
    it('verifies as it is, and its later rows with their times', async () => {
      const database = await engine.open('logbook', schemas);
      await database.migrate(
        migrations.slice(
          0,
          migrations.findIndex(({ name }) => name === '0009-audit-hash'),
        ),
      );
      const { rows } = await database.statement<AuditColumns>(
        `insert into {governance.write_audit} (action, reason, operation, writer_id)
         values ('allow', 'test:old', 'memory_store', 'me') returning ${auditColumns}`,
      );
      for (const row of rows) {
        const sha = rowSha(String(row.audit_id), storedEntryOf(database, row), 1);
        const chainSha = nextChainSha(CHAIN_START, sha);
        await database.statement(
          `insert into {governance.audit_chain} (writer_id, seq, audit_id, phase, row_sha, chain_sha)
           values ('me', 1, ?, 'insert', ?, ?)`,
          [row.audit_id, sha, chainSha],
        );
        await database.statement(
          `insert into {governance.audit_heads} (writer_id, seq, chain_sha) values ('me', 1, ?)`,
          [chainSha],
        );
      }

      await database.migrate(migrations);
      await database.migrate(migrations);
      const audit = createAudit({ database, instanceId: 'me', committed: () => {} });
      expect(await audit.verify()).to.deep.include({ ok: true, links: 1 });

      const pending = await audit.write({
        action: 'allow',
        operation: 'memory_store',
        reason: 'new',
        status: 'pending',
      });
      await audit.finalize(pending, { status: 'success', action: 'allow', reason: 'new' });
      expect(await audit.verify()).to.deep.include({ ok: true, links: 3 });

      await database.statement(`update {governance.write_audit} set updated_at = created_at where reason = 'test:old'`);
      expect((await audit.verify()).ok).to.equal(true);
      await database.statement(
        `update {governance.write_audit} set ts = '2026-01-02T03:04:05.678Z' where audit_id = ?`,
        [Number(pending)],
      );
      expect((await audit.verify()).broken).to.include({ auditId: pending, problem: 'row_altered' });
      // Calling its links old ones hides nothing.
      await database.statement('update {governance.audit_chain} set hash_version = 1');
      expect((await audit.verify()).broken).to.include({ auditId: pending, problem: 'row_altered' });
    });
  });
});
