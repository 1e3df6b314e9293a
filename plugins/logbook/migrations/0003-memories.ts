import type { Migration, MigrationSchema } from 'mortise/sdk';

async function createOutbox(schema: MigrationSchema): Promise<void> {
  await schema.createTable('logbook.outbox_memory', (table, columns) => {
    columns.id('outbox_id');
    table.bigInteger('item_id');
    table.text('target_space').notNullable();
    table.text('payload_md').notNullable();
    table.text('payload_sha').notNullable();
    table.text('status').notNullable().defaultTo('pending');
    table.integer('retry_count').notNullable().defaultTo(0);
    columns.time('next_attempt_at', { defaultNow: true }).notNullable();
    columns.time('locked_at');
    table.text('locked_by');
    table.text('last_error');
    columns.time('created_at', { defaultNow: true }).notNullable();
    columns.time('updated_at', { defaultNow: true }).notNullable();
    columns.json('meta_json', '{}').notNullable();
    table.text('kind');
    columns.json('evidence_json', '[]').notNullable();
    table.text('actor_user_id');
    table.text('requested_space');
    table.text('correlation_id');
    table.text('memory_key');
    table.text('meta_sha').notNullable().defaultTo('');
    table.integer('unavailable_count').notNullable().defaultTo(0);
    table.text('last_error_class');
    columns.flag('verify_first', false).notNullable();
    table.text('memory_id');
    columns.time('sent_at');
    columns.time('dead_at');
  });
  await schema.raw(
    `create index logbook_outbox_due on {logbook.outbox_memory} (next_attempt_at, outbox_id) where status = 'pending'`,
  );
  await schema.raw('create index logbook_outbox_status on {logbook.outbox_memory} (status, updated_at)');
  await schema.raw('create index logbook_outbox_payload on {logbook.outbox_memory} (target_space, payload_sha)');
}

async function createLedger(schema: MigrationSchema): Promise<void> {
  await schema.createTable('logbook.memories', (table, columns) => {
    columns.id('seq');
    table.text('memory_key').notNullable();
    table.text('space').notNullable();
    table.text('payload_md');
    table.text('payload_sha').notNullable();
    table.integer('payload_len');
    table.text('meta_sha').notNullable().defaultTo('');
    table.text('kind');
    columns.json('meta_json', '{}').notNullable();
    columns.json('evidence_json', '[]').notNullable();
    table.text('actor_user_id');
    table.bigInteger('item_id');
    table.text('backend').notNullable().defaultTo('local');
    table.text('backend_memory_id');
    table.text('state').notNullable().defaultTo('writing');
    table.bigInteger('audit_id');
    table.bigInteger('outbox_id');
    table.text('correlation_id');
    columns.time('created_at', { defaultNow: true }).notNullable();
    columns.time('updated_at', { defaultNow: true }).notNullable();
  });
  await schema.raw('create unique index logbook_memories_key on {logbook.memories} (memory_key)');
  // The one that decides between two processes storing the same memory at once.
  await schema.raw(
    `create unique index logbook_memories_dedup on {logbook.memories} (space, payload_sha, meta_sha)
     where state in ('writing', 'active', 'queued')`,
  );
  await schema.raw('create index logbook_memories_backend on {logbook.memories} (backend, backend_memory_id)');
  await schema.raw('create index logbook_memories_space on {logbook.memories} (space, created_at)');
  // Memories that no backend holds are looked through on every query: they are few.
  await schema.raw(
    `create index logbook_memories_undelivered on {logbook.memories} (space, seq)
     where state in ('queued', 'dead', 'merged')`,
  );
}

/** The ledger of memories, and the outbox of those that a backend could not take yet. */
export const memories: Migration = {
  name: '0003-memories',
  async up(schema) {
    await createOutbox(schema);
    await createLedger(schema);
  },
};
