import type { Migration } from 'mortise/sdk';

/** Which facts of its row a link's hash is of. Links that are there already are of the first ones, without `ts` and `updated_at`. */
export const auditHash: Migration = {
  name: '0009-audit-hash',
  async up(schema) {
    await schema.alterTable('governance.audit_chain', (table) => {
      table.integer('hash_version').notNullable().defaultTo(1);
    });
  },
};
