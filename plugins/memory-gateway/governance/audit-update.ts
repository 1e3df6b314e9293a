import { type AuditEntry, redactSecrets } from 'mortise/sdk';
import type { UpdateRequest } from './update-request.js';

/** The audit row of a request to change the policy. It names the keys that were sent, never a credential. */
export function auditUpdate(
  { patch, actorUserId, principal, correlationId }: UpdateRequest,
  projectKey: string,
  outcome: { readonly action: 'allow' | 'reject'; readonly reason: string; readonly version: number | null },
): AuditEntry {
  const space = `governance:${projectKey}`;
  const { action, reason, version } = outcome;
  return {
    action,
    operation: 'governance_update',
    reason,
    actorUserId,
    principal: principal.id,
    targetSpace: space,
    payloadSha: null,
    correlationId,
    evidence: {
      source: 'gateway',
      correlation_id: correlationId,
      changes: {
        team_write_enabled: patch.teamWriteEnabled ?? null,
        policy_keys: Object.keys(patch.policy ?? {}).map((key) => redactSecrets(key).slice(0, 64)),
      },
      gateway_event: { policy: { mode: null, version } },
    },
  };
}
