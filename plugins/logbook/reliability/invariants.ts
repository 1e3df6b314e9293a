import type { Invariant } from 'mortise/contracts/logbook';
import type { Database, Dialect, TransactionOption } from 'mortise/sdk';
import { isAudited } from '../audit/json-facts.js';
import { type AuditGroup, countRows } from './audit-stats.js';

const actions: readonly (string | null)[] = ['allow', 'redirect', 'reject'];

/** Outbox rows of a status that have an audit row with this action and reason prefix. */
function auditedText(dialect: Dialect, status: string, action: string, reasons: readonly string[]): string {
  return `select count(*) as rows from {logbook.outbox_memory} o where o.status = '${status}'
    and ${isAudited(dialect, action, reasons)}`;
}

function equal(id: string, left: number, right: number): Invariant {
  return { id, ok: left === right, left, right };
}

/**
 * Invariants of every snapshot, each as two counts that must be equal:
 *
 * - `1`: every memory that a backend did not accept has its outbox row, and vice versa.
 * - `1-sent`, `1-dead`: every sent and every dead outbox row has its audit row.
 * - `2`: every row is allow, redirect or reject.
 */
export async function checkInvariants(
  database: Database,
  groups: readonly AuditGroup[],
  outbox: { readonly pending: number; readonly sent: number; readonly dead: number },
  options: TransactionOption,
): Promise<readonly Invariant[]> {
  const audited = async (status: string, action: string, reasons: readonly string[]): Promise<number> => {
    const text = auditedText(database.dialect, status, action, reasons);
    return (await database.statement<{ rows: number }>(text, [], options)).rows[0]?.rows ?? 0;
  };
  const outages = countRows(groups, ({ action, reason }) => {
    return action === 'redirect' && (reason?.startsWith('OPENMEMORY_') ?? false);
  });
  return [
    equal('1', outages, outbox.pending + outbox.sent + outbox.dead),
    equal('1-sent', outbox.sent, await audited('sent', 'allow', ['outbox_flush_success', 'outbox_flush_dedup_hit'])),
    equal('1-dead', outbox.dead, await audited('dead', 'reject', ['outbox_flush_dead'])),
    equal(
      '2',
      countRows(groups, () => true),
      countRows(groups, ({ action }) => actions.includes(action)),
    ),
  ];
}
