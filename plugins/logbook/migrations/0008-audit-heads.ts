import type { Migration } from 'mortise/sdk';

/** Where each chain ends, so that one whose last links were removed is seen to be shorter than it was. */
export const auditHeads: Migration = {
  name: '0008-audit-heads',
  async up(schema) {
    await schema.createTable('governance.audit_heads', (table, columns) => {
      table.text('writer_id').primary();
      table.bigInteger('seq').notNullable();
      table.text('chain_sha').notNullable();
      columns.time('updated_at', { defaultNow: true }).notNullable();
    });
    await schema.raw(
      `insert into {governance.audit_heads} (writer_id, seq, chain_sha, updated_at)
       select c.writer_id, c.seq, c.chain_sha, c.created_at
       from (select writer_id, max(seq) as seq from {governance.audit_chain} group by writer_id) last
       join {governance.audit_chain} c on c.writer_id = last.writer_id and c.seq = last.seq`,
    );
  },
};
