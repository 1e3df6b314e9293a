import type { GovernanceSettings } from 'mortise/contracts/logbook';
import { askMemoryPolicy, type MemoryPolicyVerdict, memoryPolicyChecks } from 'mortise/contracts/memory-gateway';
import type { CallContext } from 'mortise/sdk';
import type { GatewayParts } from '../parts.js';
import { decide, privateSpaceOf } from '../policy/decide.js';
import { type EffectivePolicy, effectivePolicy } from '../policy/effective-policy.js';
import { guardRequest } from '../policy/guard-request.js';
import { checkActor } from './check-actor.js';
import { checkEvidence } from './check-evidence.js';
import type { Objection, Step, StoreDecision, Validation } from './decision.js';
import { type StoreRequest, withTexts } from './store-request.js';

/**
 * One pass through the stages before the write. The first reject ends it; a later redirect overrides the space of an
 * earlier one, but the first redirect's reason is the one that is told.
 */
class Pass {
  request: StoreRequest;
  space: string;
  readonly steps: Step[] = [];
  readonly warnings: string[] = [];
  validation: Validation | null = null;
  secrets = 0;
  secretPlaces: readonly string[] = [];
  isRedacted = false;
  newUser: string | null = null;
  redirect: Objection | null = null;
  reject: Objection | null = null;
  allowReason = '';

  constructor(request: StoreRequest) {
    this.request = request;
    this.space = request.requestedSpace;
  }

  /** Takes a stage's verdict down. @returns whether the pipeline goes on. */
  note(stage: string, verdict: { readonly kind: 'pass' } | (Objection & { readonly space?: string })): boolean {
    if (verdict.kind === 'pass') {
      this.steps.push({ stage, verdict: 'pass' });
      return true;
    }
    this.steps.push({ stage, verdict: verdict.kind, reason: verdict.reason });
    if (verdict.kind === 'reject') {
      this.reject = verdict;
      return false;
    }
    this.redirect ??= verdict;
    this.space = verdict.space ?? this.space;
    return true;
  }

  decision(settings: GovernanceSettings, policy: EffectivePolicy): StoreDecision {
    const objection = this.reject ?? this.redirect;
    return {
      request: this.request,
      steps: this.steps,
      finalSpace: this.reject === null ? this.space : null,
      reason: objection?.reason ?? this.allowReason,
      objection,
      validation: this.validation,
      warnings: this.warnings,
      secrets: this.secrets,
      secretPlaces: this.secretPlaces,
      isRedacted: this.isRedacted,
      newUser: this.reject === null ? this.newUser : null,
      keepsDuplicates: policy.dedup === 'off',
      settingsVersion: settings.version,
    };
  }
}

async function actorStage(pass: Pass, parts: GatewayParts): Promise<boolean> {
  const verdict = await checkActor(pass.request, parts.logbook.users, parts.config.unknown_actor_policy);
  if (verdict.kind === 'pass') pass.newUser = verdict.newUser;
  return pass.note('actor', verdict);
}

async function evidenceStage(pass: Pass, parts: GatewayParts, policy: EffectivePolicy): Promise<boolean> {
  const { validation, warnings, objection } = await checkEvidence(
    pass.request,
    parts.logbook.evidence,
    policy.evidence_mode,
    {
      enforceInStrictMode: parts.config.strict_mode_enforce_validate_refs,
      validateEvidence: parts.config.validate_evidence_refs,
    },
  );
  pass.validation = validation;
  pass.warnings.push(...warnings);
  return pass.note('evidence', objection ?? { kind: 'pass' });
}

function contentStage(pass: Pass, policy: EffectivePolicy): boolean {
  const { payload, meta, evidence, kind, requestedSpace: space, actorUserId: actor } = pass.request;
  const texts = { payload, meta, evidence: evidence.items, kind, space, actor };
  const verdict = guardRequest(texts, policy.content_guard);
  if (verdict.kind === 'reject') {
    const { type, explanation } = verdict;
    return pass.note('content-guard', { kind: 'reject', reason: `content_intercepted:${type}`, explanation });
  }
  if (verdict.kind !== 'pass') {
    pass.secrets = verdict.secrets;
    pass.secretPlaces = verdict.places;
  }
  if (verdict.kind === 'warn') {
    pass.warnings.push(...verdict.places.map((place) => `${place} holds what looks like a secret`));
  }
  if (verdict.kind === 'redact') {
    pass.isRedacted = true;
    pass.request = withTexts(pass.request, verdict);
  }
  return pass.note('content-guard', { kind: 'pass' });
}

/** What a check says, as a stage of the pipeline. */
function verdictOf(verdict: MemoryPolicyVerdict): Parameters<Pass['note']>[1] {
  if (verdict.kind === 'pass') return verdict;
  const { message: explanation, ...rest } = verdict;
  return { ...rest, explanation };
}

async function addedStages(pass: Pass, parts: GatewayParts, ctx: CallContext): Promise<boolean> {
  for (const check of memoryPolicyChecks(parts.points, 'memory_store')) {
    const { request } = pass;
    const asked = {
      tool: 'memory_store' as const,
      actorUserId: request.actorUserId,
      requestedSpace: request.requestedSpace,
      targetSpace: pass.space,
      kind: request.kind,
      content: request.payload,
      meta: request.meta,
      evidence: request.evidence.items.map(({ stored }) => stored),
    };
    const verdict = await askMemoryPolicy(parts.points, check, asked, ctx, parts.log);
    if (!pass.note(`memory-policy:${check.key}`, verdictOf(verdict))) return false;
  }
  return true;
}

function policyStage(pass: Pass, settings: GovernanceSettings, policy: EffectivePolicy): boolean {
  const { request } = pass;
  const decision = decide({
    space: pass.space,
    actorUserId: request.actorUserId,
    kind: request.kind,
    // One that names nothing proves nothing.
    evidence: request.evidence.items.filter(({ uri }) => uri !== null).length,
    length: request.payloadLength,
    isBulk: request.isBulk,
    teamWriteEnabled: settings.teamWriteEnabled,
    policy,
  });
  if (decision.kind === 'allow') {
    pass.allowReason = `policy:${decision.reason}`;
    return pass.note('policy', { kind: 'pass' });
  }
  const objection = { ...decision, reason: `policy:${decision.reason}`, shown: decision.reason };
  return pass.note(
    'policy',
    decision.kind === 'redirect' ? { ...objection, space: privateSpaceOf(request.actorUserId) } : objection,
  );
}

/** Runs the stages actor, evidence, content guard, what plugins add, and policy. */
export async function decideStore(
  request: StoreRequest,
  parts: GatewayParts,
  ctx: CallContext,
): Promise<StoreDecision> {
  const settings = await parts.logbook.settings.get(parts.projectKey);
  const policy = effectivePolicy(settings.policy);
  const pass = new Pass(request);
  const stages = [
    () => actorStage(pass, parts),
    () => evidenceStage(pass, parts, policy),
    () => contentStage(pass, policy),
    () => addedStages(pass, parts, ctx),
    () => policyStage(pass, settings, policy),
  ];
  for (const stage of stages) {
    if (!(await stage())) break;
  }
  return pass.decision(settings, policy);
}
