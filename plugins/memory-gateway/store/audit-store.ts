import { type AuditEntry, redactSecrets } from 'mortise/sdk';
import { isStrong, sortEvidence } from '../evidence/sort-evidence.js';
import type { Step, StoreDecision } from './decision.js';
import type { StoreRequest } from './store-request.js';

/** What happened to a request, as the audit trail tells it. */
export interface StoreOutcome {
  readonly action: AuditEntry['action'];
  readonly reason: string;
  readonly status: NonNullable<AuditEntry['status']>;
  /** The space that was written, or that the row is about. */
  readonly space: string;
  readonly memoryKey: string | null;
  readonly memoryId: string | null;
  readonly backend: string | null;
  /** Further members of the JSON's top level. */
  readonly more?: Readonly<Record<string, unknown>>;
}

const MOST_SUMMED_URIS = 5;

function summary(request: StoreRequest) {
  const { items, refs } = request.evidence;
  return {
    count: items.length,
    has_strong: items.some(isStrong),
    uris: (refs ?? []).slice(0, MOST_SUMMED_URIS).map(redactSecrets),
  };
}

/** A reason may name what the caller named. */
function shownStep(step: Step): Step {
  return step.reason === undefined ? step : { ...step, reason: redactSecrets(step.reason) };
}

/** What the trail cannot tell from the row itself. */
function gatewayEvent(request: StoreRequest, decision: StoreDecision | null, outcome: StoreOutcome) {
  const validation = decision?.validation ?? null;
  return {
    requested_space: redactSecrets(request.requestedSpace),
    final_space: redactSecrets(decision?.finalSpace ?? '') || null,
    decision: { steps: (decision?.steps ?? []).map(shownStep) },
    payload_len: request.payloadLength,
    evidence_summary: summary(request),
    evidence_source: request.evidence.source,
    policy: { mode: validation?.mode ?? null, version: decision?.settingsVersion ?? null },
    validation:
      validation === null
        ? null
        : { effective: validation.isOn, reason: validation.reason, findings: validation.findings.map(redactSecrets) },
    refs: (request.evidence.refs ?? []).map(redactSecrets),
    backend: outcome.backend,
    ...(decision === null || decision.secrets === 0
      ? {}
      : { secrets: decision.secrets, secret_places: decision.secretPlaces, redacted: decision.isRedacted }),
  };
}

/** Lists that are not empty. */
function present(lists: Readonly<Record<string, readonly unknown[]>>): Record<string, readonly unknown[]> {
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
}

/** The audit row of a store request. Its JSON never holds the text, a secret, or the content of evidence. */
export function auditStore(request: StoreRequest, decision: StoreDecision | null, outcome: StoreOutcome): AuditEntry {
  return {
    action: outcome.action,
    operation: 'memory_store',
    reason: outcome.reason,
    status: outcome.status,
    actorUserId: request.actorUserId,
    principal: request.principal.id,
    targetSpace: outcome.space,
    payloadSha: request.payloadSha,
    correlationId: request.correlationId,
    memoryKey: outcome.memoryKey,
    evidence: {
      source: 'gateway',
      correlation_id: request.correlationId,
      payload_sha: request.payloadSha,
      ...(outcome.memoryId === null ? {} : { memory_id: outcome.memoryId }),
      ...(outcome.memoryKey === null ? {} : { memory_key: outcome.memoryKey }),
      ...outcome.more,
      ...present({ ...sortEvidence(request.evidence.items) }),
      gateway_event: gatewayEvent(request, decision, outcome),
    },
  };
}

/** The further audit row of a request that made its unknown actor a user. */
export function auditNewUser(request: StoreRequest, userId: string): AuditEntry {
  return {
    action: 'allow',
    operation: 'actor_autocreate',
    reason: 'actor_autocreated',
    status: 'success',
    actorUserId: userId,
    principal: request.principal.id,
    targetSpace: `private:${userId}`,
    correlationId: request.correlationId,
    evidence: { source: 'gateway', correlation_id: request.correlationId },
  };
}
