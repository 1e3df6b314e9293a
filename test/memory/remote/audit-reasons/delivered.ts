import { expect } from 'chai';
import { until } from 'mortise/sdk/testing';
import { refuseRows } from '../refuse-rows.js';
import type { RemoteMemory } from '../remote-memory.js';
import { becomeDue, byWorker, put, queue, type ReasonGroup, type ReasonRow } from './reason-row.js';

async function failWhileFlushing(memory: RemoteMemory, sqlState: string): Promise<void> {
  const id = await queue(memory, `Unlucky ${sqlState}.`);
  const end = await refuseRows(memory, {
    event: 'update',
    table: 'logbook.outbox_memory',
    when: `new.status = 'sent'`,
    sqlState,
  });
  await memory.deliver();
  await end();
  await memory.database.statement('update {logbook.outbox_memory} set locked_at = null, locked_by = null');
  await memory.deliver();
  expect(await memory.outboxRow(id)).to.deep.include({ status: 'sent' });
}

const outboxRows: readonly ReasonRow[] = [
  {
    ...byWorker,
    reason: 'outbox_flush_success',
    action: 'allow',
    async provoke(memory) {
      await queue(memory, 'Delivered.');
      await memory.deliver();
    },
  },
  {
    ...byWorker,
    reason: 'outbox_flush_dedup_hit',
    action: 'allow',
    async provoke(memory) {
      const row = await memory.outboxRow(await queue(memory, 'Sent before.'));
      await memory.deliver();
      const { outbox } = memory.host.service('logbook');
      const duplicate = await outbox.enqueueMemory({
        ...row,
        memoryKey: 'duplicate',
        status: 'pending',
        delaySeconds: 0,
      });
      await memory.host.service('audit').write({
        action: 'redirect',
        operation: 'memory_store',
        reason: 'OPENMEMORY_WRITE_FAILED:timeout',
        evidence: { outbox_id: duplicate },
      });
      await memory.deliver();
    },
  },
  {
    ...byWorker,
    reason: 'outbox_flush_retry',
    action: 'redirect',
    async provoke(memory) {
      await queue(memory, 'Tried.');
      memory.server.fail('add', { kind: 'status', status: 500 });
      await memory.deliver();
      await becomeDue(memory);
      await memory.deliver();
    },
  },
  {
    ...byWorker,
    reason: 'outbox_flush_dead',
    action: 'reject',
    async provoke(memory) {
      await queue(memory, 'Refused.');
      memory.server.fail('add', { kind: 'status', status: 422 });
      await memory.deliver();
    },
  },
  {
    reason: 'outbox_retry_requested',
    operation: 'outbox_retry',
    source: 'operator',
    action: 'allow',
    async provoke(memory) {
      await memory.run('memory-outbox', ['retry'], { allDead: true });
      await memory.deliver();
    },
  },
  {
    ...byWorker,
    reason: 'outbox_flush_conflict',
    action: 'redirect',
    async provoke(memory) {
      const id = await queue(memory, 'Taken away.');
      const before = memory.server.requests.length;
      memory.server.fail('add', { kind: 'slow', ms: 200 });
      const delivering = memory.deliver();
      await until(() => memory.server.requests.slice(before).some(({ call }) => call === 'add'));
      const holder = (name: string | null) =>
        memory.database.statement('update {logbook.outbox_memory} set locked_by = ? where outbox_id = ?', [name, id]);
      await holder('thief');
      await delivering;
      await memory.database.statement('update {logbook.outbox_memory} set locked_at = null, locked_by = null');
      await memory.deliver();
    },
  },
  {
    ...byWorker,
    reason: 'outbox_stale',
    action: 'redirect',
    async provoke(memory) {
      const id = await queue(memory, 'Left by its holder.');
      const past = memory.database.codec.time(Date.now() - 120_000);
      await memory.database.statement(
        `update {logbook.outbox_memory} set locked_by = 'gone', locked_at = ? where outbox_id = ?`,
        [past, id],
      );
      await memory.deliver();
    },
  },
  {
    reason: 'outbox_stale',
    operation: 'outbox_reconcile',
    source: 'reconcile_outbox',
    action: 'redirect',
    async provoke(memory) {
      const id = await queue(memory, 'Found by the reconciliation.');
      const past = memory.database.codec.time(Date.now() - 660_000);
      await memory.database.statement(
        `update {logbook.outbox_memory} set locked_by = 'gone', locked_at = ? where outbox_id = ?`,
        [past, id],
      );
      await memory.run('memory-reconcile', [], { once: true });
      await memory.deliver();
    },
  },
  {
    ...byWorker,
    reason: 'outbox_flush_db_error',
    action: 'redirect',
    provoke: (memory) => failWhileFlushing(memory, 'P0001'),
  },
  {
    ...byWorker,
    reason: 'outbox_flush_db_timeout',
    action: 'redirect',
    only: 'postgres', // A busy SQLite takes no audit row either.
    provoke: (memory) => failWhileFlushing(memory, '57014'),
  },
  ...(['MISSING', 'ALTERED'] as const).map((finding) => ({
    reason: new RegExp(`^OPENMEMORY_CONTENT_${finding}:mk_`),
    operation: 'backend_repair',
    source: 'reconcile_outbox' as const,
    action: 'redirect' as const,
    async provoke(memory: RemoteMemory) {
      const { body } = await put(memory, `To be ${finding}.`);
      const id = String(body.memory_id);
      const kept = memory.server.memories.get(id);
      memory.server.lose(id);
      if (finding === 'ALTERED') memory.server.put({ ...kept, content: 'Something else.', id });
      await memory.run('memory-reconcile', [], { once: true, checkBackend: true, repairBackend: true });
      await memory.deliver();
    },
  })),
];

/** Outcomes of outbox rows. */
export const delivered: readonly ReasonGroup[] = [
  { platform: 'that delivers from its outbox', options: {}, rows: outboxRows },
];
