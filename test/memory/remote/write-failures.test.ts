import { expect } from 'chai';
import { answerOf } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase, type TestEngine, until } from 'mortise/sdk/testing';
import { contents } from '../memory-host.js';
import { refuseRows } from './refuse-rows.js';
import { type RemoteMemory, startRemoteMemory } from './remote-memory.js';

describe('a database that refuses writes', () => {
  eachDatabase((engine: TestEngine) => {
    let memory: RemoteMemory;
    beforeEach(async () => {
      memory = await startRemoteMemory(engine);
    });
    afterEach(() => memory.stop());

    const put = (text: string) => memory.store({ payload_md: text, target_space: 'private:a' });
    const adds = () => memory.server.requests.filter(({ call }) => call === 'add').length;
    const state = async (text: string) => {
      const { rows } = await memory.database.statement<{ state: string; audit_id: number }>(
        'select state, audit_id from {logbook.memories} where payload_md = ?',
        [text],
      );
      return rows[0];
    };

    it('sends no memory to the backend if its audit row cannot be written first', async () => {
      const end = await refuseRows(memory, {
        event: 'insert',
        table: 'governance.write_audit',
        when: `new.operation = 'memory_store'`,
      });
      for (const target_space of ['private:a', 'foo:bar']) {
        const { status, body } = await memory.store({ payload_md: 'Not audited.', target_space });
        expect(status).to.equal(200);
        expect(body).to.deep.include({ ok: false, action: 'error', error_code: 'AUDIT_WRITE_FAILED', memory_id: null });
        expect(body.message).to.contain('was not stored');
      }
      expect(adds()).to.equal(0);
      expect(await memory.count('logbook.memories')).to.equal(0);
      await end();
      expect((await put('Not audited.')).body).to.deep.include({ ok: true, dedup: false });
    });

    it('is retried before the outcome of a write is given up', async () => {
      const end = await refuseRows(memory, {
        event: 'update',
        table: 'governance.write_audit',
        when: `new.status = 'success'`,
      });
      const storing = put('Settled at last.');
      await until(() => memory.host.logs.some((line) => line.includes('is not committed yet')));
      await end();
      const answer = await storing;
      expect(answer.body).to.deep.include({ ok: true, memory_id: 'om-1' });
      expect((await memory.audits(answer))[0]).to.deep.include({ status: 'success' });
      expect(adds()).to.equal(1);
    });

    it('leaves a write open if its outcome cannot be committed, and recovery settles it', async () => {
      const end = await refuseRows(memory, {
        event: 'update',
        table: 'governance.write_audit',
        when: `new.status <> 'pending'`,
      });
      const { body } = await put('Left open.');
      expect(body).to.deep.include({ ok: false, action: 'error', error_code: 'AUDIT_WRITE_FAILED', memory_id: null });
      expect(body.message).to.contain('outcome of the write is unknown').and.contain('will be settled');
      expect(await state('Left open.')).to.deep.include({ state: 'writing' });
      await end();
      const old = memory.database.codec.time(Date.now() - 60_000);
      await memory.database.statement('update {governance.write_audit} set created_at = ?', [old]);
      expect((await memory.run('memory-recover')).data).to.deep.include({ stored: 1, unresolved: 0 });
      expect(await state('Left open.')).to.deep.include({ state: 'active' });
      const { rows } = await memory.host.service('audit').query({ operation: 'memory_store' });
      expect(rows).to.have.length(1);
      expect(rows[0]).to.deep.include({ status: 'success', action: 'allow' });
      expect(rows[0]?.evidence).to.deep.include({ recovered: true, memory_id: 'om-1' });
      expect([adds(), memory.server.memories.size]).to.deep.equal([1, 1]);
      expect((await put('Left open.')).body).to.deep.include({ ok: true, dedup: true, memory_id: 'om-1' });
    });

    it('causes an internal error without details if it fails before the decision', async () => {
      const rename = (from: string, to: string) =>
        memory.database.statement(
          engine.dialect === 'sqlite'
            ? `alter table identity_${from} rename to identity_${to}`
            : `alter table identity.${from} rename to ${to}`,
        );
      await rename('users', 'people');
      const answer = await memory.store({ payload_md: 'Whose?', target_space: 'private:a', actor_user_id: 'alice' });
      await rename('people', 'users');
      expect(answer.body).to.deep.include({
        ok: false,
        action: 'error',
        error_code: 'INTERNAL_ERROR',
        reason: 'internal_error',
        message: `Internal error (${answer.body.correlation_id})`,
      });
      expect(JSON.stringify(answer.body)).not.to.match(/people|users|select|table/);
      const [audit, ...others] = await memory.audits(answer);
      expect(others).to.deep.equal([]);
      expect(audit).to.deep.include({ action: 'reject', reason: 'internal_error', status: 'failed' });
    });

    it('is reported as full to a governance update, which changes nothing', async () => {
      const govern = async () =>
        answerOf(await memory.host.post('/governance/settings/update', { policy_json: { max_chars: 7 } }));
      const end = await refuseRows(memory, {
        event: 'insert',
        table: 'governance.write_audit',
        when: `new.operation = 'governance_update'`,
        sqlState: '53100',
      });
      const { status, body } = await govern();
      await end();
      // SQLite cannot raise that code, so there the cause is unknown.
      const reason = engine.dialect === 'postgres' ? 'LOGBOOK_DB_UNAVAILABLE' : 'LOGBOOK_DB_CHECK_FAILED';
      expect([status, body.reason]).to.deep.equal([503, reason]);
      if (engine.dialect === 'postgres') expect(body.message).to.include('no space left');
      expect((await govern()).body).to.include({ reason: 'governance_update:missing_credentials' });
    });

    it('loses nothing while it is full, and continues when there is space again', async () => {
      const fill = async (): Promise<() => Promise<void>> => {
        if (engine.dialect === 'postgres') {
          // PostgreSQL's code for a full disk.
          const full = { event: 'insert', table: 'logbook.memories', when: 'true', sqlState: '53100' } as const;
          return refuseRows(memory, full);
        }
        await memory.database.statement('pragma max_page_count = 1');
        return async () => void (await memory.database.statement('pragma max_page_count = 1073741823'));
      };
      await put('Before.');
      const end = await fill();
      // The last page still has free space.
      let full = await put(`Too much. ${'x'.repeat(100_000)}`);
      for (let n = 0; n < 20 && full.body.action !== 'error'; n += 1) full = await put(`Too much ${n}.`);
      expect(full.body).to.deep.include({ ok: false, action: 'error', error_code: 'AUDIT_WRITE_FAILED' });
      expect(contents(await memory.query({ query: 'before', spaces: ['private:a'] }))).to.deep.equal(['Before.']);
      const deep = await memory.get('/health?deep=1');
      expect([deep.status, deep.body.status]).to.deep.equal([503, 'error']);
      expect(deep.body.checks).to.have.nested.property('database.detail').that.includes('is its disk full?');
      await end();
      expect((await put('After.')).body).to.deep.include({ ok: true, action: 'allow' });
      expect((await memory.get('/reliability/report')).body.message).to.equal(null);
      expect(await memory.host.service('audit').verify()).to.deep.include({ ok: true });
    });
  });
});
