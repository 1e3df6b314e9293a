import { createHash } from 'node:crypto';
import { wireTime } from 'mortise/contracts/sessions';
import { type CallContext, canonicalJson, type Database, isCodedError, newId, type ScheduleService } from 'mortise/sdk';
import type { SelfOpsAudit } from '../audit.js';
import { invalidRequest, storing } from '../errors.js';
import { type AllowedPath, allowedPath } from './allowed-path.js';
import { applyOperation } from './apply-operation.js';
import { type Documents, structureProblem } from './documents.js';
import {
  activePath,
  type DiffSummary,
  type Draft,
  type MutationChecks,
  type MutationTarget,
  type Operation,
  providersPath,
} from './mutation.js';
import type { MutationStore } from './mutation-store.js';
import { type MutationRequest, readMutation } from './read-mutation.js';
import { changedSecrets, secretWordsIn } from './secrets.js';
import { changedLines, contentHash, unifiedDiff } from './unified-diff.js';

export interface MutationDeps {
  readonly database: Pick<Database, 'transaction'>;
  readonly store: MutationStore;
  readonly documents: Documents;
  readonly schedule: Pick<ScheduleService, 'now'>;
  readonly audit: SelfOpsAudit;
  /** @throws forbidden */
  readonly checkRight: (ctx: CallContext, target: string) => void;
}

const lifetimeMs = 5 * 60_000;
/** Of all documents before and after: they are compared, stored and shown. */
const maxBytes = 8 * 1_048_576;

interface Plan {
  readonly drafts: readonly Draft[];
  /** As the caller wrote them. */
  readonly denied: readonly string[];
  readonly structureError: string | undefined;
}

/**
 * Computes and stores a change without making it.
 * @throws forbidden, invalid_json, invalid_request
 */
export async function previewMutation(deps: MutationDeps, body: unknown, ctx: CallContext) {
  deps.checkRight(ctx, 'self-ops:preview');
  const { target, operations, allowSensitive } = readMutation(body);
  const plan = await normalised(deps.documents, await planChange(deps.documents, { target, operations }));
  const summary = summaryOf(target, plan);
  const checks = checksOf(plan);
  const requiresAllow = checks.sensitive_fields !== undefined;
  const id = newId('mutation');
  const documents = plan.drafts.map(({ path, kind, after }) => ({ path, kind, after }));
  const confirmHash = createHash('sha256')
    .update(canonicalJson({ id, target, checks, summary, allowSensitive, requiresAllow, documents }))
    .digest('hex');
  const expiresAt = deps.schedule.now() + lifetimeMs;
  const mutation = { id, target, documents, checks, summary, confirmHash, allowSensitive, expiresAt };
  await storing(() =>
    deps.database.transaction(async (trx) => {
      await deps.store.insert({ ...mutation, state: 'pending' }, ctx.principal.id, trx);
      const evidence = { mutation_id: id, target, documents: auditedSummary(summary), risk_level: checks.risk_level };
      await deps.audit.done('preview', `mutation:${id}`, evidence, ctx, { trx });
    }),
  );
  return {
    mutation_id: id,
    expires_at: wireTime(expiresAt),
    confirm_hash: confirmHash,
    checks,
    diff_summary: summary,
    unified_diff: plan.drafts.map(unifiedDiff).join(''),
    requires_sensitive_allow: requiresAllow,
  };
}

/** Paths and hashes, without content. */
export function auditedSummary(summary: readonly DiffSummary[]) {
  return summary.slice(0, 100).map(({ path, before_hash, after_hash }) => ({ path, before_hash, after_hash }));
}

/** Applies the operations in order to the documents they name. */
async function planChange(
  documents: Documents,
  { target, operations }: Pick<MutationRequest, 'target' | 'operations'>,
): Promise<Plan> {
  const drafts = new Map<string, Draft>();
  const denied = new Set<string>();
  for (const operation of operations) {
    const place = placeOf(target, operation);
    const draft = place && (drafts.get(place.path) ?? (await openDraft(documents, place)));
    if (!draft) denied.add(operation.path.slice(0, 500));
    else {
      const after = applyOperation(draft.after, draft.kind, { target, operation });
      drafts.set(draft.path, { ...draft, after });
    }
  }
  const size = [...drafts.values()].reduce((sum, { before, after }) => sum + sizeOf(before) + sizeOf(after), 0);
  if (size > maxBytes) throw invalidRequest('the documents before and after the change are larger than 8 MiB together');
  return { drafts: [...drafts.values()], denied: [...denied], structureError: undefined };
}

/** UTF-16 units, nearly. */
function sizeOf(document: unknown): number {
  return document === undefined ? 0 : typeof document === 'string' ? document.length : JSON.stringify(document).length;
}

function placeOf(target: MutationTarget, { path }: Operation): AllowedPath | undefined {
  if (target === 'workspace_file') return allowedPath(path);
  return target === 'provider_config'
    ? { path: providersPath, kind: 'providers' }
    : { path: activePath, kind: 'active' };
}

/** Undefined when a link makes the path one that may not be changed. */
async function openDraft(documents: Documents, place: AllowedPath): Promise<Draft | undefined> {
  try {
    const before = await documents.read(place);
    return { ...place, before, after: before };
  } catch (error) {
    if (isCodedError(error) && error.code === 'mutation_path_denied') return undefined;
    throw error;
  }
}

async function normalised(documents: Documents, plan: Plan): Promise<Plan> {
  const problem = plan.drafts.map(structureProblem).find((text) => text !== undefined);
  if (problem !== undefined) return { ...plan, structureError: problem };
  try {
    return { ...plan, drafts: await documents.normalise(plan.drafts) };
  } catch (error) {
    if (!isCodedError(error) || (error.status ?? 500) >= 500) throw error;
    return { ...plan, structureError: error.message };
  }
}

function summaryOf(target: MutationTarget, { drafts, denied }: Plan): readonly DiffSummary[] {
  const changed = drafts.map(({ path, kind, before, after }) => {
    const [beforeHash, afterHash] = [contentHash(kind, before), contentHash(kind, after)];
    return { target, path, changed: beforeHash !== afterHash, before_hash: beforeHash, after_hash: afterHash };
  });
  const refused = denied.map((path) => ({ target, path, changed: false, before_hash: '', after_hash: '' }));
  return [...changed, ...refused];
}

function checksOf({ drafts, denied, structureError }: Plan): MutationChecks {
  const sensitive = [...new Set(drafts.flatMap(sensitiveFields))].sort();
  const isChanged = drafts.some(({ kind, before, after }) => contentHash(kind, before) !== contentHash(kind, after));
  const isRisky = denied.length > 0 || sensitive.length > 0;
  return {
    path_whitelist_passed: denied.length === 0,
    structure_valid: structureError === undefined,
    ...(structureError === undefined ? {} : { structure_error: structureError }),
    risk_level: isRisky ? 'high' : isChanged ? 'medium' : 'low',
    ...(sensitive.length > 0 ? { sensitive_fields: sensitive } : {}),
    ...(denied.length > 0 ? { denied_paths: denied } : {}),
  };
}

function sensitiveFields({ kind, before, after }: Draft): readonly string[] {
  if (kind !== 'text') return changedSecrets(before, after);
  return secretWordsIn(changedLines(String(before ?? ''), String(after ?? '')));
}
