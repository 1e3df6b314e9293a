import type { GovernanceSettings } from 'mortise/contracts/logbook';
import { type AuditEntry, redactSecrets } from 'mortise/sdk';
import { type EffectivePolicy, effectivePolicy } from '../policy/decide.js';
import type { UpdateRequest } from './update-request.js';

/** The wire form of the settings. */
interface SettingsView {
  readonly team_write_enabled: boolean;
  /** Only the keys that were set. */
  readonly policy_json: Readonly<Record<string, unknown>>;
  /** With defaults for the keys that were not set. */
  readonly effective_policy: EffectivePolicy;
  readonly project_key: string;
  readonly updated_by: string | null;
  readonly updated_at: string;
  readonly version: number;
}

/** The result of `governance_update`. */
export interface UpdateResult {
  readonly ok: boolean;
  readonly action: 'allow' | 'reject';
  readonly settings: SettingsView | null;
  readonly message: string | null;
  readonly correlation_id: string;
  readonly reason: string;
  readonly warnings?: readonly string[];
}

export function acceptedResult(
  { correlationId }: UpdateRequest,
  reason: string,
  settings: GovernanceSettings,
  warnings: readonly string[],
): UpdateResult {
  return {
    ok: true,
    action: 'allow',
    settings: {
      team_write_enabled: settings.teamWriteEnabled,
      policy_json: settings.policy,
      effective_policy: effectivePolicy(settings.policy),
      project_key: settings.projectKey,
      updated_by: settings.updatedBy,
      updated_at: settings.updatedAt,
      version: settings.version,
    },
    message: null,
    correlation_id: correlationId,
    reason,
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

/** @param explanation a sentence fragment */
export function refusedResult({ correlationId }: UpdateRequest, reason: string, explanation: string): UpdateResult {
  const message = `Rejected: ${explanation} (${reason}).`;
  return { ok: false, action: 'reject', settings: null, message, correlation_id: correlationId, reason };
}

/** The audit row of a request to change the policy. It lists the keys that were sent, and never contains a credential. */
export function auditUpdate(
  { patch, actorUserId, principal, correlationId }: UpdateRequest,
  projectKey: string,
  { action, reason, version }: Pick<UpdateResult, 'action' | 'reason'> & { readonly version: number | null },
): AuditEntry {
  return {
    action,
    operation: 'governance_update',
    reason,
    actorUserId,
    principal: principal.id,
    targetSpace: `governance:${projectKey}`,
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
