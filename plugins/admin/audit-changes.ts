import { type AuditService, type Logger, MortiseError, type Principal, type Watched } from 'mortise/sdk';

export interface AdminChange {
  readonly action: string;
  readonly key: string;
  readonly principal: Principal;
  readonly correlationId: string;
}

/** Runs a change and writes one row about how it ended. */
export type ChangeAudit = <T>(change: AdminChange, run: () => Promise<T>) => Promise<T>;

/**
 * Every change and every refusal is one audit row. While the audit trail is not there nothing may change, except the
 * plugins that bring it back.
 */
export function auditChanges(audit: Watched<AuditService>, log: Logger): ChangeAudit {
  return async (change, run) => {
    if (!audit.current && !bringsAuditBack(change)) {
      throw new MortiseError('audit_unavailable', 'The audit trail is not available, so nothing may be changed.', {
        status: 503,
        hint: 'mortise plugin inspect logbook tells why.',
      });
    }
    try {
      const result = await run();
      await write(change, 'allow', 'admin:done');
      return result;
    } catch (error) {
      await write(change, 'reject', `admin:${error instanceof MortiseError ? error.code : 'internal_error'}`);
      throw error;
    }
  };

  async function write(change: AdminChange, action: 'allow' | 'reject', reason: string): Promise<void> {
    // A change may itself have stopped or started the plugin that keeps the trail.
    const trail = audit.current;
    // A key that no plugin has may be of any length.
    const key = change.key.slice(0, 64);
    const entry = {
      action,
      operation: `admin:${change.action}`,
      reason,
      principal: change.principal.id,
      actorUserId: change.principal.actor ?? null,
      targetSpace: `plugin:${key}`,
      correlationId: change.correlationId,
      evidence: { plugin: key },
    } as const;
    if (trail) await trail.write(entry);
    else log.warn({ ...entry }, 'an admin change could not be written to the audit trail');
  }
}

function bringsAuditBack(change: AdminChange): boolean {
  return change.key === 'logbook' && change.action !== 'disable';
}
