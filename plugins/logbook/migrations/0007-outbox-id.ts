import type { Migration } from 'mortise/sdk';
import { outboxIdText } from '../audit/json-facts.js';

/** The index of outbox ids in the words that operators use, which alone SQLite uses it for. */
export const outboxId: Migration = {
  name: '0007-outbox-id',
  async up(schema) {
    await schema.raw({ sqlite: 'drop index governance_audit_outbox' });
    await schema.raw({
      sqlite: `create index governance_audit_outbox on {governance.write_audit} (${outboxIdText('sqlite')})`,
    });
  },
};
