import { type AuditRow, type Evidence, evidenceOf, groupBy, type OutboxRow, outboxIdOf } from '../evidence.js';

type ByOutboxId = ReadonlyMap<string, readonly AuditRow[]>;

function isOutage({ action, reason }: AuditRow): boolean {
  return action === 'redirect' && (reason ?? '').startsWith('OPENMEMORY_');
}

function begins({ reason }: AuditRow, ...beginnings: readonly string[]): boolean {
  return beginnings.some((beginning) => (reason ?? '').startsWith(beginning));
}

/** 1: every outage has an outbox row, whose outcome is in the audit trail. */
function* first(rows: readonly OutboxRow[], audits: readonly AuditRow[], byId: ByOutboxId): Iterable<string> {
  const outages = audits.filter(isOutage).length;
  if (outages !== rows.length) yield `1: ${outages} outages are audited, and the outbox has ${rows.length} rows.`;
  for (const { outbox_id, status } of rows) {
    const own = byId.get(outbox_id) ?? [];
    const outage = own.filter(isOutage).length;
    if (outage !== 1) yield `1: outbox row ${outbox_id} has ${outage} audit rows of its outage.`;
    const sent = own.some(
      (audit) => audit.action === 'allow' && begins(audit, 'outbox_flush_success', 'outbox_flush_dedup_hit'),
    );
    const dead = own.filter((audit) => audit.action === 'reject' && begins(audit, 'outbox_flush_dead')).length;
    if (status === 'sent' && !sent) yield `1: no audit row says that outbox row ${outbox_id} was sent.`;
    if (status === 'dead' && dead !== 1) yield `3: ${dead} audit rows say that outbox row ${outbox_id} is dead.`;
  }
}

/** 2: allow, redirect and reject are the only actions. */
function* second(audits: readonly AuditRow[]): Iterable<string> {
  for (const { audit_id, action } of audits) {
    if (!['allow', 'redirect', 'reject'].includes(action ?? ''))
      yield `2: audit row ${audit_id} has the action ${action}.`;
  }
}

/** 3: an expired lease is recorded once. */
function* third(audits: readonly AuditRow[]): Iterable<string> {
  const stale = audits.filter((audit) => begins(audit, 'outbox_stale'));
  const leases = groupBy(stale, (audit) => `${outboxIdOf(audit)} ${String(evidenceOf(audit).original_locked_at)}`);
  for (const [lease, rows] of leases) {
    if (rows.length > 1) yield `3: the lease ${lease} is recorded ${rows.length} times.`;
  }
}

/** 4: the lookup by outbox id finds every audit row of it. */
function* fourth(rows: readonly OutboxRow[], byId: ByOutboxId, found: Evidence['auditsFound']): Iterable<string> {
  for (const { outbox_id } of rows) {
    const [is, should] = [found.get(outbox_id) ?? 0, byId.get(outbox_id)?.length ?? 0];
    if (is !== should) yield `4: the lookup of outbox row ${outbox_id} finds ${is} of ${should} audit rows.`;
  }
}

/** The invariants of the audit trail and the outbox, with their numbers in the product's report. */
export function* invariants({ outbox, audits, auditsFound }: Evidence): Iterable<string> {
  const byId = groupBy(audits, outboxIdOf);
  yield* first(outbox, audits, byId);
  yield* second(audits);
  yield* third(audits);
  yield* fourth(outbox, byId, auditsFound);
}
