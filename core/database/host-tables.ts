import type { Migration } from '../sdk/host/database.js';

/** Tables of the platform itself: who is running, and who holds which lease. */
export const hostMigrations: readonly Migration[] = [
  {
    name: '0001-instances-and-leases',
    async up(schema) {
      await schema.createTable('mortise.instances', (table, columns) => {
        table.string('id', 64).primary();
        table.string('host', 255).notNullable();
        table.integer('pid').notNullable();
        columns.time('started_at', { defaultNow: true });
        columns.millis('heartbeat_at').notNullable();
      });
      await schema.createTable('mortise.leases', (table, columns) => {
        table.string('name', 255).primary();
        table.string('holder', 128);
        columns.millis('epoch').notNullable();
        columns.millis('expires_at');
      });
    },
  },
];
