import type { Migration } from 'mortise/sdk';

/** Which columns of its row a link's hash covers. Existing links cover the first set, without `ts` and `updated_at`. */
export const auditHash: Migration = {
  name: '0009-audit-hash',
  async up(schema) {
    await schema.alterTable('governance.audit_chain', (table) => {
      table.integer('hash_version').notNullable().defaultTo(1);
    });
  },
};
