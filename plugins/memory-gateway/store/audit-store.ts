import { type AuditEntry, redactSecrets } from 'mortise/sdk';
import type { Step, StoreDecision } from './decide-store.js';
import { hasHash, sortEvidence } from './evidence.js';
import type { StoreRequest } from './store-request.js';

/** The outcome of a request, as the audit row records it. */
interface StoreOutcome {
  readonly action: AuditEntry['action'];
  readonly reason: string;
  readonly status: NonNullable<AuditEntry['status']>;
  /** The space written, or the one the request was refused for. */
  readonly space: string;
  readonly memoryKey: string | null;
  readonly memoryId: string | null;
  readonly backend: string | null;
  /** Further members at the top level of the JSON. */
  readonly more?: Readonly<Record<string, unknown>>;
}

const MAX_SUMMARY_URIS = 5;

function summary(request: StoreRequest) {
  const { items, refs } = request.evidence;
  return {
    count: items.length,
    has_strong: items.some(hasHash),
    uris: (refs ?? []).slice(0, MAX_SUMMARY_URIS).map(redactSecrets),
  };
}

/** A reason may contain names that the caller chose. */
function redactStep(step: Step): Step {
  return step.reason === undefined ? step : { ...step, reason: redactSecrets(step.reason) };
}

/** Details that have no column of the row. */
function gatewayEvent(request: StoreRequest, decision: StoreDecision | null, outcome: StoreOutcome) {
  const validation = decision?.validation ?? null;
  return {
    requested_space: redactSecrets(request.requestedSpace),
    final_space: redactSecrets(decision?.finalSpace ?? '') || null,
    decision: { steps: (decision?.steps ?? []).map(redactStep) },
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

function nonEmpty(lists: Readonly<Record<string, readonly unknown[]>>): Record<string, readonly unknown[]> {
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
}

/** The audit row of a store request. Its JSON never contains the text, a secret, or the content of evidence. */
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
      ...nonEmpty({ ...sortEvidence(request.evidence.items) }),
      gateway_event: gatewayEvent(request, decision, outcome),
    },
  };
}

/** The additional audit row of a request whose unknown actor became a user. */
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
