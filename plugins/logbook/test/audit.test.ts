import { expect } from 'chai';
import type { AuditEntry, AuditService, Database, HostEvents } from 'mortise/sdk';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import { CHAIN_START, nextChainSha, rowSha } from '../audit/chain.js';
import { createAudit } from '../audit/create-audit.js';
import { type AuditColumns, auditColumns, storedEntryOf } from '../audit/read-row.js';
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

    it('tells the same of rows of every writer that names its source, and settles that too', async () => {
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

    it('commits with the effect it tells of, and tells of it only then', async () => {
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

    const tampering: [string, string, string][] = [
      ['an altered row', `update {governance.write_audit} set reason = 'test:other' where audit_id = ?`, 'row_altered'],
      [
        'an altered evidence',
        `update {governance.write_audit} set evidence_refs_json = '{}' where audit_id = ?`,
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
