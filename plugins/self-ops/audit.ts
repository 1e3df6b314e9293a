import { type AuditService, changeEntry } from 'mortise/contracts/logbook';
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
  return {
    done: (step, targetSpace, evidence, ctx, options) =>
      audit.write(changeEntry(`self-ops:${step}`, ctx, { targetSpace, evidence }), options),
    refused: (step, code, targetSpace, evidence, ctx) =>
      audit.write({
        ...changeEntry(`self-ops:${step}`, ctx, { targetSpace, evidence }),
        action: 'reject',
        reason: `self-ops:${code}`,
        status: 'failed',
      }),
  };
}
