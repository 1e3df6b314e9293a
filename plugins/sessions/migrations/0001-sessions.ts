import type { Migration, MigrationSchema } from 'mortise/sdk';

/**
 * Sessions carry the lease and the sequence; chats are their named faces; a message belongs to one turn of one chat.
 * Times are epoch milliseconds by the database's clock, because lease arithmetic is done in SQL.
 */
export const sessionTables: Migration = {
  name: '0001-sessions',
  async up(schema) {
    await schema.createTable('realtime.sessions', (table, columns) => {
      table.string('id', 1024).primary();
      table.string('channel', 64).notNullable();
      table.string('user_id', 128).notNullable();
      table.string('client_session_id', 256).notNullable();
      table.string('current_chat_id', 128).nullable();
      table.integer('next_seq').notNullable().defaultTo(0);
      table.string('lock_token', 36).nullable();
      columns.millis('lease_epoch').notNullable().defaultTo(0);
      table.string('lease_owner', 128).nullable();
      columns.millis('processing_since').nullable();
      columns.millis('lease_ttl_ms').nullable();
      columns.millis('lease_expires_at').nullable();
      table.string('title', 120).nullable();
      columns.millis('created_at').notNullable();
      columns.millis('updated_at').notNullable();
    });
    await schema.createTable('realtime.chats', (table, columns) => {
      table.string('id', 128).primary();
      belongsToSession(table, schema);
      table.text('name').notNullable();
      columns.json('meta', '{}').notNullable();
      columns.millis('created_at').notNullable();
      columns.millis('updated_at').notNullable();
    });
    await schema.createTable('realtime.turns', (table, columns) => {
      table.string('turn_id', 64).primary();
      belongsToSession(table, schema);
      table.string('chat_id', 128).notNullable();
      table.string('status', 16).notNullable();
      table.string('idempotency_key', 128).nullable();
      table.string('body_sha256', 64).nullable();
      columns.millis('lease_epoch').notNullable();
      table.string('owner', 128).notNullable();
      columns.flag('cancel_requested', false).notNullable();
      table.string('prompt_mode', 32).nullable();
      table.string('provider_id', 64).nullable();
      table.string('model', 256).nullable();
      table.integer('steps').notNullable().defaultTo(0);
      columns.millis('input_tokens').nullable();
      columns.millis('output_tokens').nullable();
      table.string('error_code', 64).nullable();
      table.text('error_message').nullable();
      // Text, not jsonb: a repeated request gets the events as they were, members in the same order.
      table.text('events').nullable();
      columns.flag('events_truncated', false).notNullable();
      table.string('trace_id', 32).nullable();
      table.string('correlation_id', 64).nullable();
      columns.millis('started_at').notNullable();
      columns.millis('finished_at').nullable();
    });
    await schema.createTable('realtime.messages', (table, columns) => {
      table.string('id', 64).primary();
      belongsToSession(table, schema);
      table.string('chat_id', 128).nullable();
      table.string('turn_id', 64).nullable();
      table.integer('seq').notNullable();
      table.string('role', 16).notNullable();
      table.string('type', 32).notNullable().defaultTo('message');
      table.text('content').notNullable();
      columns.json('parts').nullable();
      columns.json('tool_calls').nullable();
      table.string('tool_call_id', 128).nullable();
      table.string('status', 16).notNullable();
      columns.millis('lease_epoch').nullable();
      columns.json('meta').nullable();
      columns.millis('created_at').notNullable();
    });
    for (const sql of [
      'create index realtime_sessions_by_user on {realtime.sessions} (channel, user_id, updated_at)',
      'create index realtime_sessions_leased on {realtime.sessions} (lease_expires_at) where lock_token is not null',
      'create index realtime_chats_by_session on {realtime.chats} (session_id, updated_at)',
      'create index realtime_chats_by_time on {realtime.chats} (updated_at, id)',
      'create unique index uq_turns_idempotency on {realtime.turns} (session_id, idempotency_key) where idempotency_key is not null',
      "create index realtime_turns_running on {realtime.turns} (session_id) where status = 'running'",
      'create index realtime_turns_by_chat on {realtime.turns} (chat_id, started_at)',
      'create unique index uq_messages_session_seq on {realtime.messages} (session_id, seq)',
      'create index realtime_messages_by_chat on {realtime.messages} (chat_id, seq)',
      'create index realtime_messages_by_turn on {realtime.messages} (turn_id)',
    ]) {
      await schema.raw(sql);
    }
  },
};

type Table = Parameters<Parameters<MigrationSchema['createTable']>[1]>[0];

function belongsToSession(table: Table, schema: MigrationSchema): void {
  table.string('session_id', 1024).notNullable();
  table.foreign('session_id').references('id').inTable(schema.table('realtime.sessions')).onDelete('CASCADE');
}
