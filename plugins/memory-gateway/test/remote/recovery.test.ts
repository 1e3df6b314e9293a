import { expect } from 'chai';
import type { AuditService } from 'mortise/contracts/logbook';
import { startFakeOpenMemory } from 'mortise/contracts/memory-backend-openmemory/testing';
import { eachDatabase, ownPostgres, type TestEngine, testDialects } from 'mortise/sdk/testing';
import { startGateway } from '../gateway-host.js';
import { type RemoteHost, startRemote, writingMemory } from './remote-host.js';

describe('writes of a process that ended', () => {
  eachDatabase((engine: TestEngine) => {
    let remote: RemoteHost;

    beforeEach(async () => {
      // It does not serve, so only the tests start a recovery.
      remote = await startRemote(engine, { listen: false });
    });
    afterEach(() => remote.stop());

    const TEXT = 'The harbour opens at five.';

    /** Leaves a store as one does that is killed before, or after, its call of the backend. */
    const killed = async (wasCalled: boolean, writer = 'gone'): Promise<string> => {
      const memoryKey = `mk_${Math.random()}`;
      if (wasCalled) {
        remote.server.put({ content: TEXT, metadata: { space: 'private:a', mortise_key: memoryKey } });
      }
      const audit = remote.host.service('audit');
      const auditId = await audit.write({
        action: 'allow',
        operation: 'memory_store',
        reason: 'policy:private_space',
        status: 'pending',
        memoryKey,
        targetSpace: 'private:a',
        evidence: { gateway_event: { requested_space: 'team:default' } },
      });
      await remote.database.statement(
        `update {governance.write_audit} set created_at = ?, writer_id = ? where audit_id = ?`,
        [remote.database.codec.time(Date.now() - 60_000), writer, Number(auditId)],
      );
      const memory = writingMemory(TEXT, { memoryKey, auditId, kind: 'FACT', meta: { a: 1 } });
      await remote.host.service('logbook').ledger.insert([memory]);
      return auditId;
    };

    const recover = async (): Promise<{ exitCode: number; data: unknown }> =>
      remote.host.points.call('command', 'memory-recover', (command, ctx) =>
        command.run({ args: [], options: {}, json: true }, ctx),
      );
    const audit = async (auditId: string) => {
      const { rows } = await (remote.host.service('audit') as AuditService).query({});
      return rows.find((row) => row.auditId === auditId);
    };

    it('are settled as stored if the backend has them', async () => {
      const auditId = await killed(true);
      expect(await recover()).to.deep.include({ exitCode: 0, data: { stored: 1, queued: 0, unresolved: 0 } });
      const row = await audit(auditId);
      expect(row).to.deep.include({ action: 'allow', reason: 'policy:private_space', status: 'success' });
      expect(row?.evidence).to.deep.include({ recovered: true, memory_id: 'om-1' });
      expect(await remote.ledger(TEXT)).to.deep.include({ state: 'active', backend_memory_id: 'om-1' });
      expect(await remote.count('logbook.outbox_memory')).to.equal(0);
      expect(await recover()).to.deep.include({ data: { stored: 0, queued: 0, unresolved: 0 } });
    });

    it('go to the outbox if the backend does not have them', async () => {
      const auditId = await killed(false);
      expect(await recover()).to.deep.include({ data: { stored: 0, queued: 1, unresolved: 0 } });
      const row = await audit(auditId);
      expect(row).to.deep.include({ reason: 'OPENMEMORY_WRITE_FAILED:recovered_after_crash', status: 'redirected' });
      const { outbox_id } = await remote.ledger(TEXT);
      const waiting = await remote.host.service('logbook').outbox.get(outbox_id ?? 0);
      expect(waiting).to.deep.include({
        status: 'pending',
        verifyFirst: false,
        payload: TEXT,
        meta: { a: 1 },
        requestedSpace: 'team:default',
      });
    });

    it('go to the outbox to be looked up first if the backend is down', async () => {
      await killed(true);
      await remote.server.stop();
      expect(await recover()).to.deep.include({ data: { stored: 0, queued: 1, unresolved: 0 } });
      const { outbox_id } = await remote.ledger(TEXT);
      expect(await remote.host.service('logbook').outbox.get(outbox_id ?? 0)).to.deep.include({ verifyFirst: true });
    });

    it('are ignored while their process is alive', async () => {
      const living = await startRemote(engine, { listen: false, dataDir: remote.host.dataDir });
      const id = await living.host.service('audit').write({ action: 'allow', operation: 'test', reason: 'test:mine' });
      const { rows } = await living.database.statement<{ writer_id: string }>(
        'select writer_id from {governance.write_audit} where audit_id = ?',
        [Number(id)],
      );
      const auditId = await killed(true, rows[0]?.writer_id);
      expect(await recover()).to.deep.include({ data: { stored: 0, queued: 0, unresolved: 0 } });
      expect(await audit(auditId)).to.deep.include({ status: 'pending' });
      await living.stop();
      expect(await recover()).to.deep.include({ data: { stored: 1, queued: 0, unresolved: 0 } });
    });

    it('are settled once by two concurrent recoveries', async () => {
      for (let n = 0; n < 3; n += 1) {
        const auditId = await killed(n % 2 === 0);
        await remote.database.statement(`update {logbook.memories} set payload_sha = ? where audit_id = ?`, [
          String(n),
          Number(auditId),
        ]);
      }
      const both = await Promise.all([recover(), recover()]);
      const settled = both.map(({ data }) => data as { stored: number; queued: number });
      expect(settled.reduce((sum, { stored, queued }) => sum + stored + queued, 0)).to.equal(3);
      expect(await remote.count('logbook.outbox_memory')).to.equal(1);
      expect((await remote.host.service('audit').verify()).ok).to.equal(true);
    });
  });
});

const onServer = testDialects().includes('postgres') ? describe : undefined;
onServer?.('a database that is down', () => {
  it('sends nothing to the backend', async () => {
    const postgres = await ownPostgres();
    const server = await startFakeOpenMemory();
    const env = {
      DATABASE_HOST: '127.0.0.1',
      DATABASE_PORT: String(postgres.port),
      DATABASE_USER: 'postgres',
      DATABASE_PASSWORD: '',
      DATABASE_NAME: 'postgres',
    };
    const gateway = await startGateway(
      { env },
      {
        plugins: ['memory-gateway', 'memory-backend-openmemory'],
        env: { OPENMEMORY_BASE_URL: server.origin },
        config: { 'memory-gateway': { memory_backend: 'openmemory' } },
      },
    );
    try {
      await postgres.stop();
      const answer = await gateway.store({ payload_md: 'Lost?', target_space: 'private:a' });
      expect(answer.status).to.equal(503);
      expect(answer.body).to.deep.include({
        ok: false,
        action: 'error',
        retryable: true,
        error_code: 'LOGBOOK_DB_UNAVAILABLE',
      });
      expect(answer.headers.get('retry-after')).to.equal('2');
      expect(server.requests.filter(({ call }) => call === 'add')).to.have.length(0);
      await postgres.start();
      expect((await gateway.store({ payload_md: 'Not lost.', target_space: 'private:a' })).body.ok).to.equal(true);
    } finally {
      await gateway.stop();
      await server.stop();
      await postgres.dispose();
    }
  });
});
