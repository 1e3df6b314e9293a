import type { ArtifactStore } from 'mortise/contracts/evidence-store';
import { AccessRefused, type AuditService, actorRefusal, type LogbookService } from 'mortise/contracts/logbook';
import {
  argumentError,
  type Database,
  isUnstorableJson,
  lostNumber,
  type ToolContext,
  type Transaction,
} from 'mortise/sdk';
import { isResultError } from './tool-error.js';

/** What the tools work with. */
export interface ToolDeps {
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly audit: AuditService;
  readonly artifacts: ArtifactStore;
}

export type Args = Readonly<Record<string, unknown>>;
export type Result = Readonly<Record<string, unknown>>;

/** The code of one tool. */
export type ToolCode =
  | {
      readonly kind: 'reads';
      run(args: Args, ctx: ToolContext, deps: ToolDeps): Promise<Result>;
    }
  | {
      readonly kind: 'changes';
      /** The subject of the audit row, from the arguments or the result. */
      target(args: Args, result: Result | undefined): string;
      /** Work outside the transaction, such as writing files. Its value is passed to `record`. */
      prepare?(args: Args, ctx: ToolContext, deps: ToolDeps): Promise<unknown>;
      /** Changes rows. The audit row is added to the same transaction. */
      record(args: Args, prepared: unknown, deps: ToolDeps, trx: Transaction): Promise<Result>;
    };

type ChangingCode = Extract<ToolCode, { kind: 'changes' }>;

interface Call {
  readonly name: string;
  readonly args: Args;
  readonly ctx: ToolContext;
  readonly deps: ToolDeps;
}

function auditEntry({ name, args, ctx }: Call, code: ChangingCode, outcome: string, result: Result | undefined) {
  return {
    action: outcome === 'done' ? ('allow' as const) : ('reject' as const),
    operation: `logbook-tools:${name}`,
    reason: `logbook-tools:${outcome}`,
    actorUserId: typeof args.actor_user_id === 'string' ? args.actor_user_id : (ctx.principal.actor ?? null),
    principal: ctx.principal.id,
    targetSpace: code.target(args, result),
    correlationId: ctx.correlationId,
    evidence: { source: 'gateway', correlation_id: ctx.correlationId },
  };
}

/** @throws AccessRefused `ACTOR_MISMATCH`. */
function checkPrincipal({ actor_user_id: claimed }: Args, { principal }: ToolContext): void {
  const refusal = actorRefusal(principal, typeof claimed === 'string' ? claimed : null);
  if (refusal !== undefined) throw new AccessRefused(refusal);
}

async function change(call: Call, code: ChangingCode): Promise<Result> {
  const { args, ctx, deps } = call;
  checkPrincipal(args, ctx);
  const prepared = await code.prepare?.(args, ctx, deps);
  ctx.signal.throwIfAborted();
  ctx.commit?.();
  return deps.database.transaction(async (trx) => {
    const result = await code.record(args, prepared, deps, trx);
    await deps.audit.write(auditEntry(call, code, 'done', result), { trx });
    return result;
  });
}

/** These become files, which may contain any bytes. */
const contentArguments: ReadonlySet<string> = new Set(['content', 'content_base64']);

/** Refuses values that the database could not store unchanged. */
function checkValues({ name, args }: Call): void {
  for (const [member, value] of Object.entries(args)) {
    const lost = lostNumber(value, `/${member}`);
    if (lost !== undefined) throw argumentError(name, lost, 'must be a number that JSON can represent');
    if (!contentArguments.has(member) && isUnstorableJson(JSON.stringify(value))) {
      throw argumentError(name, `/${member}`, 'must not contain NUL or lone surrogates');
    }
  }
}

/** Runs a tool. A change is audited in its transaction, and a refused change by itself. Reads are not audited. */
export async function runTool(call: Call, code: ToolCode): Promise<Result> {
  const { args, ctx, deps } = call;
  checkValues(call);
  try {
    const result = code.kind === 'reads' ? await code.run(args, ctx, deps) : await change(call, code);
    return { ok: true, ...result, correlation_id: ctx.correlationId };
  } catch (error) {
    const isRefusal = isResultError(error) || error instanceof AccessRefused;
    if (isRefusal && code.kind === 'changes') await deps.audit.write(auditEntry(call, code, error.code, undefined));
    if (!isResultError(error)) throw error;
    return {
      ok: false,
      error_code: error.code,
      retryable: error.retryable,
      message: error.message,
      correlation_id: ctx.correlationId,
      ...error.details,
    };
  }
}
