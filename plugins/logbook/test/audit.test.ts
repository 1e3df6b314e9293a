import { expect } from 'chai';
import type { AuditService } from 'mortise/contracts/logbook';
import type { AuditEntry, Database, HostEvents } from 'mortise/sdk';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import { createAudit } from '../audit/audit-service.js';
import { migrations } from '../migrations/index.js';

const schemas = ['identity', 'logbook', 'scm', 'analysis', 'governance'];

function entry(change: Partial<AuditEntry> = {}): AuditEntry {
  return {
    action: 'allow',
    operation: 'test',
    reason: 'test:done',
    correlationId: 'corr-1',
    evidence: { n: 1 },
    ...change,
  };
}

describe('the audit trail', () => {
  eachDatabase((engine: TestEngine) => {
    let database: Database;
    let audit: AuditService;
    let committed: HostEvents['audit'][];

    beforeEach(async () => {
      database = await engine.open('logbook', schemas);
      await database.migrate(migrations);
      committed = [];
      audit = createAudit({ database, instanceId: 'me', committed: (event) => committed.push(event) });
    });

    const count = async (table: string): Promise<number> => {
      const { rows } = await database.statement<{ n: number }>(`select count(*) as n from {${table}}`);
      return rows[0]?.n ?? -1;
    };

    it('keeps every member of an entry and gives rows newest first', async () => {
      const first = await audit.write(
        entry({
          actorUserId: 'alice',
          principal: 'key-1',
          targetSpace: 'team:a',
          payloadSha: 'f'.repeat(64),
          memoryKey: 'mk',
          evidence: { b: [1, { z: 1, a: 'ü' }], a: null, outbox_id: 7 },
        }),
      );
      const second = await audit.write(entry({ action: 'reject' }));
      const { rows, next } = await audit.query({});
      expect(rows.map(({ auditId }) => auditId)).to.deep.equal([second, first]);
      expect(next).to.equal(null);
      expect(rows[1]).to.deep.include({
        action: 'allow',
        actorUserId: 'alice',
        principal: 'key-1',
        targetSpace: 'team:a',
        memoryKey: 'mk',
        status: 'success',
        evidence: { a: null, b: [1, { a: 'ü', z: 1 }], outbox_id: 7 },
      });
      expect(rows[0]?.status).to.equal('failed');
    });

    it('reports the same for rows of every writer that names its source, and settles these too', async () => {
      const said = { evidence_source: 'v2', decision: { steps: [{ stage: 'policy', verdict: 'pass' }] } };
      const id = await audit.write(
        entry({
          status: 'pending',
          actorUserId: 'alice',
          targetSpace: 'team:a',
          payloadSha: 'f'.repeat(64),
          evidence: { source: 'gateway', gateway_event: said },
        }),
      );
      const event = async () => (await audit.query({})).rows[0]?.evidence.gateway_event;
      const full = {
        schema_version: '2.0',
        source: 'gateway',
        operation: 'test',
        correlation_id: 'corr-1',
        actor_user_id: 'alice',
        requested_space: 'team:a',
        final_space: 'team:a',
        payload_sha: 'f'.repeat(64),
        payload_len: null,
        evidence_summary: { count: 0, has_strong: false, uris: [] },
        evidence_source: 'v2',
        policy: { mode: null, version: null },
        validation: null,
        refs: [],
        backend: null,
      };
      const { event_ts: at, decision, ...rest } = (await event()) as Record<string, unknown>;
      expect(rest).to.deep.equal(full);
      expect(at).to.match(/^\d{4}-\d{2}-\d{2}T.*Z$/);
      expect(decision).to.deep.equal({ action: 'allow', reason: 'test:done', steps: said.decision.steps });
      await audit.finalize(id, { status: 'redirected', action: 'redirect', reason: 'test:later' });
      expect(await event())
        .to.have.property('decision')
        .that.deep.equals({ action: 'redirect', reason: 'test:later', steps: said.decision.steps });
      expect(committed[0]?.evidence).to.have.nested.property('gateway_event.decision.reason', 'test:later');
      await audit.write(entry({ action: 'reject', targetSpace: 'team:a', evidence: { source: 'operator' } }));
      expect(await event()).to.deep.include({ requested_space: 'team:a', final_space: null });
      await audit.write(entry({ evidence: { n: 1 } }));
      expect(await event()).to.equal(undefined);
      expect((await audit.verify()).ok).to.equal(true);
    });

    it('commits with the effect that it records, and only then', async () => {
      const failed = database
        .transaction(async (trx) => {
          await audit.write(entry(), { trx });
          throw new Error('no effect');
        })
        .catch((error: Error) => error.message);
      expect(await failed).to.equal('no effect');
      expect(await count('governance.write_audit')).to.equal(0);
      expect(committed).to.deep.equal([]);
      await database.transaction(async (trx) => {
        await audit.write(entry(), { trx });
        expect(committed).to.deep.equal([]);
      });
      expect(committed).to.have.length(1);
    });

    it('keeps the chain whole when a savepoint rolls back', async () => {
      await database.transaction(async (trx) => {
        await audit.write(entry({ reason: 'test:kept' }), { trx });
        await database
          .transaction(
            async (inner) => {
              await audit.write(entry({ reason: 'test:lost' }), { trx: inner });
              throw new Error('undo');
            },
            { trx },
          )
          .catch(() => {});
        await audit.write(entry({ reason: 'test:kept' }), { trx });
      });
      expect(await audit.verify()).to.deep.include({ ok: true, links: 2 });
      expect((await audit.query({})).rows.map(({ reason }) => reason)).to.deep.equal(['test:kept', 'test:kept']);
    });

    it('settles a pending row once, with a second link', async () => {
      const id = await audit.write(entry({ status: 'pending', evidence: { a: 1 } }));
      expect(committed).to.deep.equal([]);
      const outcome = {
        status: 'redirected',
        action: 'redirect',
        reason: 'test:later',
        patch: { outbox_id: 3 },
      } as const;
      expect(await audit.finalize(id, outcome)).to.equal(true);
      expect(await audit.finalize(id, outcome)).to.equal(false);
      const { rows } = await audit.query({ outboxId: '3' });
      expect(rows[0]).to.deep.include({
        auditId: id,
        action: 'redirect',
        status: 'redirected',
        evidence: { a: 1, outbox_id: 3 },
      });
      expect(committed.map(({ auditId }) => auditId)).to.deep.equal([id]);
      expect(await audit.verify()).to.deep.include({ ok: true, links: 2 });
    });

    it('grows unbranched chains under concurrent transactions', async () => {
      await Promise.all(Array.from({ length: 40 }, (_, n) => audit.write(entry({ reason: `test:${n}` }))));
      expect(await audit.verify()).to.deep.include({ ok: true, links: 40, broken: null });
    });

    const onServer = engine.dialect === 'postgres' ? it : undefined; // SQLite has one writer at a time.
    onServer?.('lets unrelated transactions write at once without waiting for each other', async () => {
      const done: string[] = [];
      await database.transaction(async (outer) => {
        await audit.write(entry({ reason: 'test:outer' }), { trx: outer });
        const other = engine.openHost().then(async (host) => {
          const elsewhere = await host.forPlugin('logbook', schemas);
          const same = createAudit({ database: elsewhere, instanceId: 'me', committed: () => {} });
          await same.write(entry({ reason: 'test:inner' }));
          done.push('inner');
        });
        await other;
        done.push('outer');
      });
      expect(done).to.deep.equal(['inner', 'outer']);
      expect(await audit.verify()).to.deep.include({ ok: true, writers: 2, links: 2 });
    });

    it('stores texts that PostgreSQL cannot hold in a form that still verifies', async () => {
      await audit.write(
        entry({ targetSpace: 'a\0b\ud800', evidence: { 'k\0': 'v\ud800', e: 1e21, z: -0, q: '\\u0000' } }),
      );
      expect((await audit.query({})).rows[0]).to.deep.include({ targetSpace: 'a\ufffdb\ufffd' });
      expect((await audit.verify()).ok).to.equal(true);
    });

    it('filters and pages', async () => {
      await audit.writeMany([
        entry({ reason: 'a:1', actorUserId: 'alice', evidence: { outbox_id: 12 } }),
        entry({ reason: 'A:2', targetSpace: 'team:x', action: 'reject' }),
        entry({ reason: 'a:3', correlationId: 'corr-2', operation: 'other' }),
      ]);
      const reasons = async (query: Parameters<AuditService['query']>[0]) =>
        (await audit.query(query)).rows.map(({ reason }) => reason);
      expect(await reasons({ reasonPrefix: 'a:' })).to.deep.equal(['a:3', 'a:1']);
      expect(await reasons({ action: 'reject' })).to.deep.equal(['A:2']);
      expect(await reasons({ actor: 'alice' })).to.deep.equal(['a:1']);
      expect(await reasons({ space: 'team:x' })).to.deep.equal(['A:2']);
      expect(await reasons({ outboxId: '12' })).to.deep.equal(['a:1']);
      expect(await reasons({ correlationId: 'corr-2' })).to.deep.equal(['a:3']);
      expect(await reasons({ operation: 'other' })).to.deep.equal(['a:3']);
      expect(await reasons({ since: '2999-01-01T00:00:00Z' })).to.deep.equal([]);
      expect(await reasons({ until: '2999-01-01T00:00:00Z' })).to.have.length(3);
      const page = await audit.query({ limit: 2 });
      expect(page.rows).to.have.length(2);
      expect(await reasons({ limit: 2, cursor: page.next ?? '' })).to.deep.equal(['a:1']);
      for (const bad of [{ limit: 0 }, { limit: 1_001 }, { cursor: 'x' }, { since: 'yesterday' }]) {
        expect(await audit.query(bad).catch((error: { status: number }) => error.status)).to.equal(400);
      }
    });

    it('finds the rows of an outbox id by index', async () => {
      const column =
        engine.dialect === 'sqlite'
          ? `CAST(evidence_refs_json->>'outbox_id' AS TEXT)`
          : `evidence_refs_json->>'outbox_id'`;
      const text = `select audit_id from {governance.write_audit} where ${column} = '1'`;
      const plan = await database.transaction(async (trx) => {
        if (engine.dialect === 'postgres') await database.statement('set local enable_seqscan = off', [], { trx });
        const explain = engine.dialect === 'sqlite' ? 'explain query plan' : 'explain';
        return database.statement(`${explain} ${text}`, [], { trx });
      });
      expect(JSON.stringify(plan.rows)).to.contain('governance_audit_outbox');
    });
  });
});
