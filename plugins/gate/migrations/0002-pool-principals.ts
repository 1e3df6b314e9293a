import type { Migration } from 'mortise/sdk';

/** The principal that a pooled observation was published for, as JSON: a release publishes it for the same one. */
export const poolPrincipals: Migration = {
  name: '0002-pool-principals',
  async up(schema) {
    await schema.alterTable('gate.pool_entries', (table) => {
      table.text('principal').nullable();
    });
  },
};
