import type { GovernanceSettings } from 'mortise/contracts/logbook';
import { type EffectivePolicy, effectivePolicy } from '../policy/effective-policy.js';
import type { UpdateRequest } from './update-request.js';

/** The settings as they are on the wire. */
export interface SettingsView {
  readonly team_write_enabled: boolean;
  /** Only what was set. */
  readonly policy_json: Readonly<Record<string, unknown>>;
  /** What holds: with defaults in the place of what was not set. */
  readonly effective_policy: EffectivePolicy;
  readonly project_key: string;
  readonly updated_by: string | null;
  readonly updated_at: string;
  readonly version: number;
}

export interface UpdateResult {
  readonly ok: boolean;
  readonly action: 'allow' | 'reject';
  readonly settings: SettingsView | null;
  readonly message: string | null;
  readonly correlation_id: string;
  readonly reason: string;
  readonly warnings?: readonly string[];
}

function viewOf(settings: GovernanceSettings): SettingsView {
  return {
    team_write_enabled: settings.teamWriteEnabled,
    policy_json: settings.policy,
    effective_policy: effectivePolicy(settings.policy),
    project_key: settings.projectKey,
    updated_by: settings.updatedBy,
    updated_at: settings.updatedAt,
    version: settings.version,
  };
}

export function acceptedResult(
  { correlationId }: UpdateRequest,
  reason: string,
  settings: GovernanceSettings,
  warnings: readonly string[],
): UpdateResult {
  const result = { ok: true, action: 'allow' as const, settings: viewOf(settings), message: null };
  return { ...result, correlation_id: correlationId, reason, ...(warnings.length === 0 ? {} : { warnings }) };
}

/** @param explanation The middle of a sentence. */
export function refusedResult({ correlationId }: UpdateRequest, reason: string, explanation: string): UpdateResult {
  const message = `Rejected: ${explanation} (${reason}).`;
  return { ok: false, action: 'reject', settings: null, message, correlation_id: correlationId, reason };
}
