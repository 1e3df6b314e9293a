import type { GateDecision, GateOutcome, GatePool } from 'mortise/contracts/gate';
import type { Observation, QualityFlag } from 'mortise/sdk';
import { type Draft, proposedReason } from './draft.js';

const noTags: Readonly<Record<string, string>> = Object.freeze({});
const nothing = Object.freeze([]);
/** Cached reason lists with one entry: most decisions have one of a few reasons only. */
const singleReasons = new Map<string, readonly string[]>();
const singleReasonLimit = 1_000;

/** Turns a completed draft into the frozen outcome. */
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

/** Published observations are frozen: a change makes a new object with the same id. */
function withFlags(observation: Observation, flags: readonly QualityFlag[]): Observation {
  const all = [...new Set([...observation.quality_flags, ...flags])].sort();
  return Object.freeze({ ...observation, quality_flags: Object.freeze(all) });
}

function reasonsOf(draft: Draft): readonly string[] {
  const { reason, proposals, notes } = draft;
  if (proposals.length === 0 && notes === undefined) {
    const known = singleReasons.get(reason);
    if (known) return known;
    const single = Object.freeze([reason]);
    if (singleReasons.size < singleReasonLimit) singleReasons.set(reason, single);
    return single;
  }
  const all = new Set([reason, ...proposals.map(proposedReason), ...(notes ?? [])]);
  return Object.freeze([...all].slice(0, draft.compiled.config.scenes[draft.scene].max_reasons));
}
