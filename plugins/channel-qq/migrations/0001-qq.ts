import type { Migration } from 'mortise/sdk';

/** Received events, for the detection of duplicates, and the counters of sent messages. */
export const qqTables: Migration = {
  name: '0001-qq',
  async up(schema) {
    await schema.createTable('agent.inbound_events', (table, columns) => {
      table.string('channel', 32).notNullable();
      table.string('event_id', 128).notNullable();
      // Empty once the event is done: the text is then in the chat.
      columns.json('payload_json', '{}').notNullable();
      table.string('state', 16).notNullable();
      table.string('turn_id', 64);
      // The process that handles the event; null when it released it.
      table.string('owner_instance', 64);
      // Order of arrival.
      table.string('position', 32).notNullable();
      columns.time('received_at', { defaultNow: true }).notNullable();
      columns.time('updated_at', { defaultNow: true }).notNullable();
      table.primary(['channel', 'event_id']);
      table.index(['state', 'owner_instance']);
      table.index(['received_at']);
    });
    await schema.createTable('agent.qq_seq', (table, columns) => {
      table.string('scope', 64).primary();
      table.bigInteger('next_seq').notNullable();
      columns.time('updated_at', { defaultNow: true }).notNullable();
      table.index(['updated_at']);
    });
  },
};
