import type { GateDecision, GateOutcome, GatePool } from 'mortise/contracts/gate';
import type { Observation, QualityFlag } from 'mortise/sdk';
import type { Draft } from './draft.js';
import { proposedReason } from './stages/policy.js';

const noTags: Readonly<Record<string, string>> = Object.freeze({});
const nothing = Object.freeze([]);
/** Most decisions have one of a few reasons alone. */
const lonely = new Map<string, readonly string[]>();
const lonelyLimit = 1_000;

/** The draft as what leaves the gate; frozen. */
export function outcomeOf(draft: Draft, elapsedUs: number): GateOutcome {
  const { observation, action, scene, compiled, emergency } = draft;
  const score = draft.score;
  const hint = compiled.hint(scene, score, emergency);
  const decision: GateDecision = Object.freeze({
    action,
    scene,
    session_key: draft.sessionKey,
    target_worker: draft.sessionKey,
    model_tier: draft.modelTier,
    low_model: draft.lowModel,
    response_policy: draft.responsePolicy,
    tool_policy: hint.can_call_tools ? null : 'none',
    score,
    reason: draft.reason,
    reasons: reasonsOf(draft),
    tags: draft.tags ? Object.freeze(draft.tags) : noTags,
    fingerprint: draft.fingerprint,
    hint,
    config_revision: compiled.snapshot.revision,
    trace_id: observation.trace_id,
    elapsed_us: elapsedUs,
  });
  const flagged = draft.flags ? withFlags(observation, draft.flags) : undefined;
  const pool: GatePool | undefined =
    action === 'deliver'
      ? undefined
      : action === 'drop'
        ? 'drop'
        : scene === 'tool_call' || scene === 'tool_result'
          ? 'tool'
          : 'sink';
  const ingest = pool ? Object.freeze([{ pool, observation: flagged ?? observation, decision }]) : nothing;
  const { emits } = draft;
  const outcome = emits
    ? { decision, ingest, emit: emits.map(({ observation }) => observation), emitters: emits.map(({ stage }) => stage) }
    : { decision, ingest, emit: nothing };
  return Object.freeze(flagged ? { ...outcome, observation: flagged } : outcome);
}

/** A change makes a new observation with the same id. */
export function withFlags(observation: Observation, flags: readonly QualityFlag[]): Observation {
  const all = [...new Set([...observation.quality_flags, ...flags])].sort();
  return Object.freeze({ ...observation, quality_flags: Object.freeze(all) });
}

function reasonsOf(draft: Draft): readonly string[] {
  const { reason, proposals, notes } = draft;
  if (proposals.length === 0 && notes === undefined) {
    const known = lonely.get(reason);
    if (known) return known;
    const made = Object.freeze([reason]);
    if (lonely.size < lonelyLimit) lonely.set(reason, made);
    return made;
  }
  const all = new Set([reason, ...proposals.map(proposedReason), ...(notes ?? [])]);
  return Object.freeze([...all].slice(0, draft.compiled.config.scenes[draft.scene].max_reasons));
}
