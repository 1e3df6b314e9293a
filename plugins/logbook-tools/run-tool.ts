import { isUnstorableJson, lostNumber, MortiseError, type ToolContext } from 'mortise/sdk';
import type { Args, Result, ToolParts } from './parts.js';
import type { ToolCode } from './tool-code.js';
import { argumentError, isAnswered } from './tool-error.js';

type ChangingCode = Extract<ToolCode, { kind: 'changes' }>;

interface Call {
  readonly name: string;
  readonly args: Args;
  readonly ctx: ToolContext;
  readonly parts: ToolParts;
}

function entryOf({ name, args, ctx }: Call, code: ChangingCode, outcome: string, result: Result | undefined) {
  return {
    action: outcome === 'done' ? ('allow' as const) : ('reject' as const),
    operation: `logbook-tools:${name}`,
    reason: `logbook-tools:${outcome}`,
    actorUserId: actorOf(args, ctx),
    principal: ctx.principal.id,
    targetSpace: code.target(args, result),
    correlationId: ctx.correlationId,
    evidence: { source: 'gateway', correlation_id: ctx.correlationId },
  };
}

function actorOf(args: Args, ctx: ToolContext): string | null {
  return typeof args.actor_user_id === 'string' ? args.actor_user_id : (ctx.principal.actor ?? null);
}

/** A key that is bound to one actor acts for no other. */
function isMismatch(args: Args, { principal }: ToolContext): boolean {
  return (
    principal.actor !== undefined && typeof args.actor_user_id === 'string' && args.actor_user_id !== principal.actor
  );
}

async function change(call: Call, code: ChangingCode): Promise<Result> {
  const { args, ctx, parts } = call;
  if (isMismatch(args, ctx)) {
    throw new MortiseError('ACTOR_MISMATCH', 'The request was refused: this key acts for another user.', {
      status: 403,
      details: { category: 'business' },
    });
  }
  const prepared = await code.prepare?.(args, ctx, parts);
  ctx.signal.throwIfAborted();
  ctx.commit?.();
  return parts.database.transaction(async (trx) => {
    const result = await code.record(args, prepared, parts, trx);
    await parts.audit.write(entryOf(call, code, 'done', result), { trx });
    return result;
  });
}

function failureOf(error: MortiseError, correlationId: string): Result {
  return {
    ok: false,
    error_code: error.code,
    retryable: error.retryable,
    message: error.message,
    correlation_id: correlationId,
    ...error.details,
  };
}

/** Content becomes a file, which may hold anything. */
const asBytes: ReadonlySet<string> = new Set(['content', 'content_base64']);

/** Refuses what could not be kept as it is. */
function checkValues({ name, args }: Call): void {
  for (const [member, value] of Object.entries(args)) {
    const lost = lostNumber(value, `/${member}`);
    if (lost !== undefined) throw argumentError(name, lost, 'must be a number that JSON can keep');
    if (!asBytes.has(member) && isUnstorableJson(JSON.stringify(value))) {
      throw argumentError(name, `/${member}`, 'must not hold NUL or lone surrogates');
    }
  }
}

/** Runs a tool. Changes are audited with their effect, refusals of changes too; reads are not. */
export async function runTool(call: Call, code: ToolCode): Promise<Result> {
  const { args, ctx, parts } = call;
  checkValues(call);
  try {
    const result = code.kind === 'reads' ? await code.run(args, ctx, parts) : await change(call, code);
    return { ok: true, ...result, correlation_id: ctx.correlationId };
  } catch (error) {
    const isRefusal = isAnswered(error) || (error instanceof MortiseError && error.code === 'ACTOR_MISMATCH');
    if (isRefusal && code.kind === 'changes') await parts.audit.write(entryOf(call, code, error.code, undefined));
    if (!isAnswered(error)) throw error;
    return failureOf(error, ctx.correlationId);
  }
}
