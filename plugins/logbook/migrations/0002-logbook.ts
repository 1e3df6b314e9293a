import type { Migration, MigrationSchema } from 'mortise/sdk';

async function createItems(schema: MigrationSchema): Promise<void> {
  await schema.createTable('logbook.items', (table, columns) => {
    columns.id('item_id');
    table.text('item_type').notNullable();
    table.text('title').notNullable();
    table.text('project_key');
    columns.json('scope_json', '{}').notNullable();
    table.text('status').notNullable().defaultTo('open');
    table.text('owner_user_id').references('user_id').inTable(schema.table('identity.users'));
    columns.time('created_at', { defaultNow: true }).notNullable();
    columns.time('updated_at', { defaultNow: true }).notNullable();
  });
}

async function createEvents(schema: MigrationSchema): Promise<void> {
  await schema.createTable('logbook.events', (table, columns) => {
    columns.id('event_id');
    table
      .bigInteger('item_id')
      .notNullable()
      .references('item_id')
      .inTable(schema.table('logbook.items'))
      .onDelete('CASCADE');
    table.text('event_type').notNullable();
    table.text('status_from');
    table.text('status_to');
    columns.json('payload_json', '{}').notNullable();
    table.text('actor_user_id');
    table.text('source').notNullable().defaultTo('tool');
    columns.time('created_at', { defaultNow: true }).notNullable();
  });
  await schema.raw('create index logbook_events_item on {logbook.events} (item_id, created_at)');
}

async function createAttachments(schema: MigrationSchema): Promise<void> {
  await schema.createTable('logbook.attachments', (table, columns) => {
    columns.id('attachment_id');
    table
      .bigInteger('item_id')
      .notNullable()
      .references('item_id')
      .inTable(schema.table('logbook.items'))
      .onDelete('CASCADE');
    table.text('kind').notNullable();
    table.text('uri').notNullable();
    table.text('sha256').notNullable();
    table.bigInteger('size_bytes');
    columns.json('meta_json', '{}').notNullable();
    columns.time('created_at', { defaultNow: true }).notNullable();
  });
  await schema.raw('create unique index logbook_attachments_content on {logbook.attachments} (item_id, kind, sha256)');
  await schema.raw('create index logbook_attachments_sha256 on {logbook.attachments} (sha256)');
}

async function createKeyValues(schema: MigrationSchema): Promise<void> {
  await schema.createTable('logbook.kv', (table, columns) => {
    table.text('namespace').notNullable();
    table.text('key').notNullable();
    columns.json('value_json');
    columns.time('updated_at', { defaultNow: true }).notNullable();
    table.primary(['namespace', 'key']);
  });
}

/** Items and what is attached to them, and small values by name. */
export const logbook: Migration = {
  name: '0002-logbook',
  async up(schema) {
    await createItems(schema);
    await createEvents(schema);
    await createAttachments(schema);
    await createKeyValues(schema);
  },
};
