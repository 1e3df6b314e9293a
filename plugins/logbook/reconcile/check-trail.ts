import type { Invariant } from 'mortise/contracts/logbook';
import type { Database, TransactionOption } from 'mortise/sdk';
import { outboxIdText } from '../audit/json-facts.js';

interface Pair {
  readonly left_rows: number;
  readonly right_rows: number;
}

/** Rules of the outbox's part in the audit trail, each as two counts of one statement. */
export async function checkTrail(database: Database, options?: TransactionOption): Promise<readonly Invariant[]> {
  const { dialect } = database;
  const check = async (id: string, text: string): Promise<Invariant> => {
    const { rows } = await database.statement<Pair>(text, [], options);
    const { left_rows: left, right_rows: right } = rows[0] ?? { left_rows: 0, right_rows: 0 };
    return { id, ok: left === right, left, right };
  };
  return [
    await check(
      '3',
      `select count(*) as left_rows, count(distinct ${outboxIdText(dialect, 'a.')} || ' '
         || coalesce(a.evidence_refs_json->>'original_locked_at', '')) as right_rows
       from {governance.write_audit} a where a.reason = 'outbox_stale'`,
    ),
    await check(
      '4',
      `select count(*) as left_rows, coalesce(sum(case when exists (select 1 from {governance.write_audit} a
         where ${outboxIdText(dialect, 'a.')} = cast(o.outbox_id as text)) then 1 else 0 end), 0) as right_rows
       from {logbook.outbox_memory} o`,
    ),
  ];
}
