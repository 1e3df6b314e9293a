import type { AuditRow } from 'mortise/contracts/logbook';
import { MortiseError, type Route } from 'mortise/sdk';
import { databaseUnavailable, isDatabaseDown } from '../errors.js';
import type { Gateway } from '../gateway.js';

/** The wire form of an audit row. */
function wireRow(row: AuditRow) {
  return {
    audit_id: row.auditId,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
    action: row.action,
    operation: row.operation,
    reason: row.reason,
    status: row.status,
    actor_user_id: row.actorUserId,
    principal: row.principal,
    target_space: row.targetSpace,
    payload_sha: row.payloadSha,
    correlation_id: row.correlationId,
    memory_key: row.memoryKey,
    evidence_refs_json: row.evidence,
  };
}

/** Query parameters of the route, and the members of the audit query they set. */
const filters = {
  action: 'action',
  operation: 'operation',
  reason_prefix: 'reasonPrefix',
  actor: 'actor',
  space: 'space',
  outbox_id: 'outboxId',
  correlation_id: 'correlationId',
  since: 'since',
  until: 'until',
  cursor: 'cursor',
} as const;

function readFilters(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries(
    Object.entries(filters).flatMap(([parameter, member]) => {
      const value = query.get(parameter);
      return value === null || value === '' ? [] : [[member, value]];
    }),
  );
}

/** `GET /memory/audit`: the audit trail, newest first. */
export function auditRoute({ audit, database }: Gateway): Route {
  return {
    async handle({ query }, ctx) {
      const limit = query.get('limit');
      try {
        const found = await audit.query({ ...readFilters(query), ...(limit === null ? {} : { limit: Number(limit) }) });
        return {
          body: {
            ok: true,
            rows: found.rows.map(wireRow),
            count: found.rows.length,
            next_cursor: found.next,
            correlation_id: ctx.correlationId,
          },
        };
      } catch (error) {
        if (!(error instanceof MortiseError) && isDatabaseDown(database, error)) throw databaseUnavailable(error);
        throw error;
      }
    },
  };
}
