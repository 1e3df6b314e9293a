import { randomUUID } from 'node:crypto';
import type { AuditService } from 'mortise/contracts/logbook';
import { type AuditEntry, type HostEvents, MortiseError, type PlatformChange, type Watched } from 'mortise/sdk';

/**
 * Writes one audit row for each change that no request asked for.
 * @throws MortiseError `audit_unavailable` (503), or what the trail threw: the platform reports the changes again later
 */
export async function auditPlatformChanges(
  { changes }: HostEvents['platform-changed'],
  audit: Watched<AuditService>,
): Promise<void> {
  if (!audit.current) throw new MortiseError('audit_unavailable', 'The audit trail is not available.', { status: 503 });
  await audit.current.writeMany(changes.map(entryOf));
}

function entryOf({ operation, target, source, refusal, details }: PlatformChange): AuditEntry {
  const done = source === 'file' ? 'admin:file_edited' : 'admin:done';
  return {
    operation: `admin:${operation}`,
    principal: source,
    targetSpace: operation === 'edit_file' ? `file:${target}` : `plugin:${target}`,
    ...(source === 'cli' ? { correlationId: randomUUID() } : {}),
    action: refusal === undefined ? 'allow' : 'reject',
    reason: refusal === undefined ? done : `admin:${refusal}`,
    status: refusal === undefined ? 'success' : 'failed',
    evidence: details,
  };
}
