import type { AuditService } from 'mortise/contracts/logbook';
import type { CallContext, TransactionOption } from 'mortise/sdk';

type Step = 'bootstrap' | 'set-session-model' | 'preview' | 'apply';
type Evidence = Readonly<Record<string, unknown>>;

/** The audit rows of this plugin. Contents of documents are never part of them. */
export interface SelfOpsAudit {
  /** @returns the id of the row */
  done(
    step: Step,
    target: string | null,
    evidence: Evidence,
    ctx: CallContext,
    options?: TransactionOption,
  ): Promise<string>;
  refused(step: Step, code: string, target: string | null, evidence: Evidence, ctx: CallContext): Promise<string>;
}

export function selfOpsAudit(audit: Pick<AuditService, 'write'>): SelfOpsAudit {
  const write = (
    step: Step,
    outcome: { readonly action: 'allow' | 'reject'; readonly code: string },
    targetSpace: string | null,
    evidence: Evidence,
    { principal, correlationId }: CallContext,
    options?: TransactionOption,
  ): Promise<string> =>
    audit.write(
      {
        action: outcome.action,
        operation: `self-ops:${step}`,
        reason: `self-ops:${outcome.code}`,
        status: outcome.action === 'allow' ? 'success' : 'failed',
        principal: principal.id,
        actorUserId: principal.actor ?? null,
        targetSpace,
        correlationId,
        evidence,
      },
      options,
    );
  return {
    done: (step, target, evidence, ctx, options) =>
      write(step, { action: 'allow', code: 'done' }, target, evidence, ctx, options),
    refused: (step, code, target, evidence, ctx) => write(step, { action: 'reject', code }, target, evidence, ctx),
  };
}
