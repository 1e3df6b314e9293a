import { timingSafeEqual } from 'node:crypto';
import { type CallContext, isCodedError, type Transaction } from 'mortise/sdk';
import { invalidRequest, selfOpsError, storing } from '../errors.js';
import { readFlag, readObject, readText } from '../read-body.js';
import type { Written } from './documents.js';
import type { Mutation } from './mutation-store.js';
import { auditedSummary, type MutationDeps } from './preview-mutation.js';
import { contentHash } from './unified-diff.js';

interface ApplyRequest {
  readonly mutationId: string;
  readonly confirmHash: string;
  readonly allowSensitive: boolean;
}

/**
 * Makes a previewed change, together with its audit row: all documents or none. A failed one may be repeated until it
 * expires. A refusal is audited.
 *
 * @throws forbidden, invalid_request, mutation_not_found, mutation_expired, mutation_apply_conflict, mutation_hash_mismatch,
 *   mutation_sensitive_denied, mutation_path_denied
 */
export async function applyMutation(deps: MutationDeps, body: unknown, ctx: CallContext) {
  deps.checkRight(ctx, 'self-ops:apply');
  const request = readApply(body);
  try {
    return await deps.documents.exclusive(() => write(deps, request, ctx));
  } catch (error) {
    if (isCodedError(error) && (error.status ?? 500) < 500) {
      const id = request.mutationId.slice(0, 64);
      await deps.audit.refused('apply', error.code, `mutation:${id}`, { mutation_id: id }, ctx);
    }
    throw error;
  }
}

function readApply(given: unknown): ApplyRequest {
  const body = readObject(given);
  const mutationId = readText(body, 'mutation_id');
  const confirmHash = readText(body, 'confirm_hash');
  if (mutationId === '' || confirmHash === '') throw invalidRequest('mutation_id and confirm_hash are required');
  return { mutationId, confirmHash, allowSensitive: readFlag(body, 'allow_sensitive') };
}

async function write(deps: MutationDeps, request: ApplyRequest, ctx: CallContext) {
  const { database, store, documents, schedule, audit } = deps;
  let replaced: readonly Written[] = [];
  try {
    return await storing(() =>
      database.transaction(async (trx) => {
        const mutation = await store.lock(request.mutationId, trx);
        checkRequest(mutation, request, schedule.now());
        const current = await checkBase(deps, mutation, trx);
        const evidence = {
          mutation_id: mutation.id,
          target: mutation.target,
          documents: auditedSummary(mutation.summary),
        };
        const auditId = await audit.done('apply', `mutation:${mutation.id}`, evidence, ctx, { trx });
        await store.markApplied(mutation.id, auditId, trx);
        await documents.write(mutation.documents, ctx, { trx });
        replaced = current;
        return { applied: true, applied_targets: mutation.documents.map(({ path }) => path), audit_id: auditId };
      }),
    );
  } catch (error) {
    // The files are written before the commit: when it fails they get their old content back.
    await documents.writeFiles(replaced).catch(() => undefined);
    throw error;
  }
}

function checkRequest(
  mutation: Mutation | undefined,
  { confirmHash, allowSensitive }: ApplyRequest,
  now: number,
): asserts mutation is Mutation {
  if (!mutation) throw selfOpsError('mutation_not_found');
  if (mutation.expiresAt <= now) {
    throw selfOpsError('mutation_expired', { hint: 'Preview the change again, and apply it within five minutes.' });
  }
  if (mutation.state !== 'pending') throw selfOpsError('mutation_apply_conflict');
  if (!isSameHash(confirmHash, mutation.confirmHash)) throw selfOpsError('mutation_hash_mismatch');
  if (allowSensitive !== mutation.allowSensitive) {
    throw selfOpsError('mutation_sensitive_denied', { message: 'allow_sensitive must match preview request' });
  }
  const {
    sensitive_fields: sensitive,
    denied_paths: denied,
    structure_valid: valid,
    structure_error,
  } = mutation.checks;
  if (sensitive && !allowSensitive) {
    throw selfOpsError('mutation_sensitive_denied', { details: { sensitive_fields: sensitive } });
  }
  if (denied) throw selfOpsError('mutation_path_denied', { details: { denied_paths: denied } });
  if (!valid) throw invalidRequest(structure_error ?? 'the change is not valid');
}

function isSameHash(given: string, stored: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(stored)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * The documents as they are. One that has the wanted content already counts as unchanged, so that a mutation whose commit was
 * lost can be applied again.
 *
 * @throws mutation_apply_conflict when another has been changed since the preview
 */
async function checkBase(
  { documents }: Pick<MutationDeps, 'documents'>,
  { target, documents: wanted, summary }: Mutation,
  trx: Transaction,
): Promise<readonly Written[]> {
  const current: Written[] = [];
  for (const { path, kind } of wanted) {
    const content = await documents.read({ path, kind }, { trx });
    const hash = contentHash(kind, content);
    const expected = summary.find((one) => one.path === path);
    if (hash !== expected?.before_hash && hash !== expected?.after_hash) {
      throw selfOpsError('mutation_apply_conflict', {
        message: `${target} changed after preview`,
        details: { path },
        hint: 'Preview the change again.',
      });
    }
    current.push({ path, kind, after: content });
  }
  return current;
}
