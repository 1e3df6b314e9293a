import {
  type AuditRow,
  brief,
  type ClientRecord,
  type Evidence,
  evidenceOf,
  groupBy,
  outboxIdOf,
} from '../evidence.js';

type Json = Readonly<Record<string, unknown>>;

/** Whether an audit row names the requested and final space of a memory, and its actor. */
function placesIt(audit: AuditRow, { requestedSpace, space, actor }: ClientRecord): boolean {
  const { gateway_event } = evidenceOf(audit);
  const { requested_space, final_space } = (gateway_event ?? {}) as Json;
  return requested_space === requestedSpace && final_space === space && audit.actor_user_id === actor;
}

/** Whether an audit row matches the client's response. */
function matches(audit: AuditRow, one: ClientRecord): boolean {
  const { promised, memoryId, outboxId, requestedSpace, space } = one;
  const evidence = evidenceOf(audit);
  if (promised !== 'nothing' && !placesIt(audit, one)) return false;
  switch (promised) {
    case 'stored':
      // Another process may settle the write by its search of the backend while the answer is in flight.
      return audit.action === (requestedSpace === space ? 'allow' : 'redirect') && evidence.memory_id === memoryId;
    case 'queued':
      return (
        audit.action === 'redirect' &&
        (outboxIdOf(audit) === outboxId || String(evidence.original_outbox_id) === outboxId)
      );
    case 'dead':
      return audit.action === 'redirect' && outboxIdOf(audit) === outboxId;
    default:
      return true;
  }
}

/** Every decision has exactly one audit row, settled and matching the client's response. */
export function* audited({ audits, ledger, clientRecords }: Evidence): Iterable<string> {
  for (const { audit_id, status } of audits) {
    if (status === 'pending') yield `Audit row ${audit_id} is still pending.`;
  }
  const decisions = audits.filter(({ operation }) => operation === 'memory_store');
  const byRequest = groupBy(decisions, ({ correlation_id }) => correlation_id);
  for (const [request, rows] of byRequest) {
    if (rows.length > 1) yield `${request} has ${rows.length} audit rows.`;
  }
  for (const one of clientRecords) {
    if (one.correlationId === null || one.promised === 'nothing') continue;
    const [row] = byRequest.get(one.correlationId) ?? [];
    if (row === undefined) yield `${brief(one.text)} (${one.correlationId}) has no audit row.`;
    else if (!matches(row, one)) {
      yield `Audit row ${row.audit_id} (${row.action} ${row.reason}) does not say that ${brief(one.text)} was ${one.promised}.`;
    }
  }
  const byMemory = groupBy(decisions, ({ memory_key }) => memory_key);
  for (const { memory_key } of ledger) {
    const rows = byMemory.get(memory_key) ?? [];
    if (rows.length !== 1) yield `Memory ${memory_key} has ${rows.length} audit rows of its store.`;
  }
}
