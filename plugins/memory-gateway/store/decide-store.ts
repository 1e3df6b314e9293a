import type { GovernanceSettings } from 'mortise/contracts/logbook';
import { memoryPolicyChecks, runMemoryPolicy } from 'mortise/contracts/memory-gateway';
import type { CallContext } from 'mortise/sdk';
import type { Gateway } from '../gateway.js';
import { guardRequest } from '../policy/content-guard.js';
import { decide, type EffectivePolicy, effectivePolicy, privateSpaceOf } from '../policy/decide.js';
import { attachmentIds, type ValidationMode, validateEvidence, validationMode } from './evidence.js';
import { type StoreRequest, withTexts } from './store-request.js';

/** The verdict of one stage, as the audit row lists it. */
export interface Step {
  readonly stage: string;
  readonly verdict: 'pass' | 'redirect' | 'reject';
  readonly reason?: string;
}

/** Why a stage does not pass the request. `reason` is the audit reason; `explanation` a sentence fragment. */
interface Objection {
  readonly kind: 'redirect' | 'reject';
  readonly reason: string;
  readonly explanation: string;
  /** The reason as messages show it, when it differs from the audit reason. */
  readonly shown?: string;
}

/** Whether and how the evidence was validated. */
interface Validation extends ValidationMode {
  readonly findings: readonly string[];
}

/** The decision on a store request. Nothing has been written yet. */
export interface StoreDecision {
  /** As sent, or with secrets redacted. */
  readonly request: StoreRequest;
  readonly steps: readonly Step[];
  /** Null for a rejected memory. */
  readonly finalSpace: string | null;
  /** The audit reason. */
  readonly reason: string;
  /** Null when the memory goes where it was sent. */
  readonly objection: Objection | null;
  readonly validation: Validation | null;
  readonly warnings: readonly string[];
  /** Number of secrets found. */
  readonly secrets: number;
  /** Where they were found: `the content`, or the JSON Pointer of an argument's member. */
  readonly secretPlaces: readonly string[];
  readonly isRedacted: boolean;
  /** An unknown actor, who is created as a user with the write. */
  readonly newUser: string | null;
  readonly keepsDuplicates: boolean;
  /** Version of the settings that were applied; null when none were needed. */
  readonly settingsVersion: number | null;
}

/**
 * The decision while the stages run. Each stage ends with `pass` or `object`, which return whether the next stage runs.
 * The first reject ends the decision. A later redirect overrides the space of an earlier one, but the reason of the first
 * redirect is the one reported.
 */
class Draft {
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

  pass(stage: string): true {
    this.steps.push({ stage, verdict: 'pass' });
    return true;
  }

  object(stage: string, objection: Objection, redirectTo?: string): boolean {
    this.steps.push({ stage, verdict: objection.kind, reason: objection.reason });
    if (objection.kind === 'reject') {
      this.reject = objection;
      return false;
    }
    this.redirect ??= objection;
    this.space = redirectTo ?? this.space;
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

/** Applies `unknown_actor_policy` to an actor who is not an active user, on every request. */
async function checkActor(draft: Draft, { logbook, config }: Gateway): Promise<boolean> {
  const actor = draft.request.actorUserId;
  if (actor === null || (await logbook.users.isActive(actor))) return draft.pass('actor');
  const explanation = `the actor ${actor} is unknown`;
  switch (config.unknown_actor_policy) {
    case 'auto_create':
      draft.newUser = actor;
      return draft.pass('actor');
    case 'reject':
      return draft.object('actor', { kind: 'reject', reason: 'actor_unknown:reject', explanation });
    case 'degrade': {
      const objection = { kind: 'redirect', reason: 'actor_unknown:degrade', explanation } as const;
      return draft.object('actor', objection, privateSpaceOf(null));
    }
  }
}

/** Validates the evidence if that is enabled. An error rejects in strict mode, and is a warning in compat mode. */
async function checkEvidence(draft: Draft, policy: EffectivePolicy, { logbook, config }: Gateway): Promise<boolean> {
  const mode = validationMode(policy.evidence_mode, config);
  const { items } = draft.request.evidence;
  if (!mode.isOn || items.length === 0) {
    draft.validation = { ...mode, findings: [] };
    return draft.pass('evidence');
  }
  const { errors, warnings } = validateEvidence(items, await logbook.evidence.attachmentHashes(attachmentIds(items)));
  const findings = [...errors, ...warnings];
  draft.validation = { ...mode, findings };
  draft.warnings.push(...findings);
  const [first] = errors;
  if (mode.mode === 'compat' || first === undefined) return draft.pass('evidence');
  const reason = `EVIDENCE_VALIDATION_FAILED:${first.slice(0, first.indexOf(':'))}`;
  return draft.object('evidence', { kind: 'reject', reason, explanation: 'the evidence is not valid' });
}

/** Applies the content guard, which can redact the request. */
function checkContent(draft: Draft, policy: EffectivePolicy): boolean {
  const { payload, meta, evidence, kind, requestedSpace: space, actorUserId: actor } = draft.request;
  const texts = { payload, meta, evidence: evidence.items, kind, space, actor };
  const verdict = guardRequest(texts, policy.content_guard);
  if (verdict.kind === 'reject') {
    const { type, explanation } = verdict;
    return draft.object('content-guard', { kind: 'reject', reason: `content_intercepted:${type}`, explanation });
  }
  if (verdict.kind !== 'pass') {
    draft.secrets = verdict.secrets;
    draft.secretPlaces = verdict.places;
  }
  if (verdict.kind === 'warn') {
    draft.warnings.push(...verdict.places.map((place) => `${place} holds what looks like a secret`));
  }
  if (verdict.kind === 'redact') {
    draft.isRedacted = true;
    draft.request = withTexts(draft.request, verdict);
  }
  return draft.pass('content-guard');
}

/** Runs the `memory-policy` checks of other plugins. */
async function runPluginChecks(draft: Draft, ctx: CallContext, { points, log }: Gateway): Promise<boolean> {
  for (const check of memoryPolicyChecks(points, 'memory_store')) {
    const { request } = draft;
    const question = {
      tool: 'memory_store' as const,
      actorUserId: request.actorUserId,
      requestedSpace: request.requestedSpace,
      targetSpace: draft.space,
      kind: request.kind,
      content: request.payload,
      meta: request.meta,
      evidence: request.evidence.items.map(({ stored }) => stored),
    };
    const verdict = await runMemoryPolicy(points, check, question, ctx, log);
    const stage = `memory-policy:${check.key}`;
    if (verdict.kind === 'pass') {
      draft.pass(stage);
      continue;
    }
    const { kind, reason, message: explanation } = verdict;
    const redirectTo = kind === 'redirect' ? verdict.space : undefined;
    if (!draft.object(stage, { kind, reason, explanation }, redirectTo)) return false;
  }
  return true;
}

/** Applies the project's policy to the space that the earlier stages chose. */
function applyPolicy(draft: Draft, settings: GovernanceSettings, policy: EffectivePolicy): boolean {
  const { request } = draft;
  const verdict = decide({
    space: draft.space,
    actorUserId: request.actorUserId,
    kind: request.kind,
    // An item without a URI does not count.
    evidence: request.evidence.items.filter(({ uri }) => uri !== null).length,
    length: request.payloadLength,
    isBulk: request.isBulk,
    teamWriteEnabled: settings.teamWriteEnabled,
    policy,
  });
  const reason = `policy:${verdict.reason}`;
  if (verdict.kind === 'allow') {
    draft.allowReason = reason;
    return draft.pass('policy');
  }
  const { kind, explanation, reason: shown } = verdict;
  return draft.object('policy', { kind, reason, explanation, shown }, privateSpaceOf(request.actorUserId));
}

/**
 * Decides where a memory may be written: in the requested space, where a stage redirects it, or nowhere. The stages run
 * in this order: actor, evidence, content guard, checks of other plugins, policy.
 */
export async function decideStore(request: StoreRequest, ctx: CallContext, gateway: Gateway): Promise<StoreDecision> {
  const settings = await gateway.logbook.settings.get(gateway.projectKey);
  const policy = effectivePolicy(settings.policy);
  const draft = new Draft(request);
  (await checkActor(draft, gateway)) &&
    (await checkEvidence(draft, policy, gateway)) &&
    checkContent(draft, policy) &&
    (await runPluginChecks(draft, ctx, gateway)) &&
    applyPolicy(draft, settings, policy);
  return draft.decision(settings, policy);
}
