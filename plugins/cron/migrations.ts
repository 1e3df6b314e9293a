import type { Migration } from 'mortise/sdk';

/**
 * Times are UTC text that sorts by time: slots have whole seconds (`2026-11-20T10:00:00Z`), all others milliseconds. The
 * rows of epochs, slots and runs alone show whether every slot has exactly one outcome.
 */
const cronTables: Migration = {
  name: '0001-cron',
  async up(schema) {
    await schema.createTable('cron.jobs', (table, columns) => {
      table.string('job_id', 128).primary();
      table.string('name', 256).notNullable();
      columns.flag('enabled', false).notNullable();
      columns.flag('paused', false).notNullable();
      // The principal that runs work for, and the user that it may be bound to.
      table.text('owner_json').notNullable();
      table.string('user_id', 128).notNullable();
      table.text('spec_json').notNullable();
      table.integer('epoch').notNullable().defaultTo(0);
      table.string('epoch_from', 24).nullable();
      table.string('next_run_at', 24).nullable();
      columns.millis('rev').notNullable();
      table.integer('failures').notNullable().defaultTo(0);
      table.string('last_run_at', 24).nullable();
      table.string('last_run_id', 64).nullable();
      table.string('last_status', 16).nullable();
      table.text('last_error').nullable();
      table.text('last_execution_json').nullable();
    });
    await schema.createTable('cron.epochs', (table) => {
      table.string('job_id', 128).notNullable();
      table.integer('epoch').notNullable();
      table.text('schedule_json').notNullable();
      table.string('timezone', 64).notNullable();
      table.string('from_at', 24).notNullable();
      table.string('to_at', 24).nullable();
      table.primary(['job_id', 'epoch']);
    });
    await schema.createTable('cron.slots', (table, columns) => {
      table.string('job_id', 128).notNullable();
      table.string('scheduled_at', 24).notNullable();
      table.string('through_at', 24).notNullable();
      columns.millis('slot_count').nullable();
      table.integer('epoch').notNullable();
      table.string('outcome', 16).notNullable();
      table.string('reason', 32).nullable();
      table.string('run_id', 64).nullable();
      table.integer('attempts').notNullable().defaultTo(0);
      table.string('claimed_by', 128).notNullable();
      table.string('decided_at', 24).notNullable();
      table.primary(['job_id', 'scheduled_at']);
    });
    await schema.createTable('cron.runs', (table, columns) => {
      table.string('run_id', 64).primary();
      table.string('job_id', 128).notNullable();
      table.string('scheduled_at', 24).nullable();
      table.string('trigger', 16).notNullable();
      table.integer('attempt').notNullable();
      table.string('status', 16).notNullable();
      table.text('error').nullable();
      table.text('result').nullable();
      table.string('idempotency_key', 128).notNullable();
      // Orders queued runs: the slot, or when a run without one may start.
      table.string('not_before', 24).notNullable();
      // Queued until a lease of the job is released.
      columns.flag('waits', false).notNullable();
      table.string('queued_at', 24).notNullable();
      table.string('started_at', 24).nullable();
      table.string('effect_at', 24).nullable();
      table.string('finished_at', 24).nullable();
      table.string('lease_id', 64).nullable();
      table.string('owner', 128).nullable();
      table.string('cancel_reason', 32).nullable();
      table.string('correlation_id', 64).nullable();
      table.text('spec_json').nullable();
      table.text('execution_json').nullable();
    });
    await schema.createTable('cron.leases', (table) => {
      table.string('job_id', 128).notNullable();
      table.integer('slot_no').notNullable();
      table.string('lease_id', 64).notNullable();
      table.string('run_id', 64).notNullable();
      table.string('owner', 128).notNullable();
      table.string('acquired_at', 24).notNullable();
      table.string('expires_at', 24).notNullable();
      table.primary(['job_id', 'slot_no']);
    });
    for (const sql of [
      'create index cron_jobs_due on {cron.jobs} (next_run_at, job_id) where next_run_at is not null',
      'create index cron_jobs_by_name on {cron.jobs} (name, job_id)',
      'create index cron_slots_through on {cron.slots} (job_id, through_at)',
      'create index cron_slots_decided on {cron.slots} (decided_at)',
      "create index cron_runs_queued on {cron.runs} (not_before, run_id) where status = 'queued'",
      "create index cron_runs_running on {cron.runs} (lease_id) where status = 'running'",
      "create index cron_runs_unfinished on {cron.runs} (job_id) where status in ('queued', 'running')",
      'create index cron_runs_by_job on {cron.runs} (job_id, queued_at, run_id)',
      'create index cron_leases_by_id on {cron.leases} (lease_id)',
      'create index cron_leases_expiry on {cron.leases} (expires_at)',
    ]) {
      await schema.raw(sql);
    }
  },
};

/** A run that was interrupted and the run that continues it name each other. */
const runLinks: Migration = {
  name: '0002-run-links',
  async up(schema) {
    await schema.alterTable('cron.runs', (table) => {
      table.string('recovers', 64).nullable();
      table.string('recovered_as', 64).nullable();
    });
  },
};

export const cronMigrations: readonly Migration[] = [cronTables, runLinks];
