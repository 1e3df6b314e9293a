import { isAgentGenerated, isSystemPlane } from 'mortise/contracts/conversation';
import type { GateAction } from 'mortise/contracts/gate';
import { type Draft, isReleased, proposedReason } from '../draft.js';

/**
 * The policy ladder: the first matching row decides. The hop limit ends every chain, also those of the platform's own
 * observations, which nothing else drops. Drop lists come before emergency mode, DROP before SINK before DELIVER; deliver
 * lists only override thresholds.
 */
export function policy(draft: Draft): void {
  const agent = isAgentGenerated(draft.observation);
  if (isSystemPlane(draft.observation)) systemPlane(draft);
  else if (draft.failed !== undefined) settle(draft, 'drop', `stage_failed:${draft.failed}`);
  else if (!dropped(draft) && !sunk(draft, agent)) {
    deliverOrCompare(draft, agent);
    if (draft.action === 'deliver') chooseTier(draft);
  }
}

function systemPlane(draft: Draft): void {
  if (exceedsHops(draft)) settle(draft, 'drop', 'loop_hops');
  else settle(draft, 'deliver', 'system_plane');
}

/** Whether a chain of observations, each published while the one before was handled, is too long. */
export function exceedsHops({ observation, compiled }: Draft): boolean {
  return observation.hop > compiled.config.loop_guard.max_hops;
}

/** Decides when a plugin replaces the policy stage: its strictest proposal, after the rows that cannot be replaced. */
function replacedPolicy(draft: Draft): void {
  if (isSystemPlane(draft.observation)) {
    systemPlane(draft);
    return;
  }
  if (dropped(draft)) return;
  const own = draft.proposals.filter(({ stage, builtIn }) => stage === 'policy' && !builtIn);
  const chosen = own.find(({ action }) => action === 'sink') ?? own[0];
  if (chosen) settle(draft, chosen.action, proposedReason(chosen));
  else settle(draft, draft.compiled.config.scenes[draft.scene].default_action, 'default_action');
}

export function settle(draft: Draft, action: GateAction, reason: string): void {
  draft.action = action;
  draft.reason = reason;
  draft.changes?.push({ action, reason });
}

function dropped(draft: Draft): boolean {
  const { compiled, observation, proposals } = draft;
  const drops = proposals.length === 0 ? proposals : proposals.filter(({ action }) => action === 'drop');
  const bypass = drops.length === 0 ? undefined : drops.find(({ slot }) => slot === 'hard-bypass');
  const actor = observation.actor?.actor_id;
  if (bypass) settle(draft, 'drop', proposedReason(bypass));
  else if (exceedsHops(draft)) settle(draft, 'drop', 'loop_hops');
  else if (compiled.anyList && compiled.dropSessions.has(draft.sessionKey)) {
    settle(draft, 'drop', 'override=drop_session');
  } else if (compiled.anyList && actor !== undefined && compiled.dropActors.has(actor)) {
    settle(draft, 'drop', 'override=drop_actor');
  } else if (drops[0]) settle(draft, 'drop', proposedReason(drops[0]));
  else return false;
  return true;
}

/** The SINK rows: emergency mode and proposals of stages. Released observations skip them. */
function sunk(draft: Draft, agent: boolean): boolean {
  const { compiled, proposals } = draft;
  const emergency = compiled.config.overrides.emergency_mode && !agent;
  if (!emergency && proposals.length === 0) return false;
  if (isReleased(draft.observation)) return false;
  if (emergency) {
    draft.emergency = true;
    draft.modelTier = 'low';
    draft.responsePolicy = 'ack';
    settle(draft, 'sink', 'override=emergency');
    return true;
  }
  const proposal = proposals.find(({ action }) => action === 'sink');
  if (proposal) settle(draft, 'sink', proposedReason(proposal));
  return proposal !== undefined;
}

function deliverOrCompare(draft: Draft, agent: boolean): void {
  const { compiled, observation } = draft;
  const scene = compiled.config.scenes[draft.scene];
  const actor = observation.actor?.actor_id;
  draft.modelTier = scene.model_tier;
  draft.responsePolicy = scene.response_policy;
  const { score } = draft;
  if (compiled.anyList && !agent && compiled.deliverSessions.has(draft.sessionKey)) {
    settle(draft, 'deliver', 'override=deliver_session');
  } else if (compiled.anyList && !agent && actor !== undefined && compiled.deliverActors.has(actor)) {
    settle(draft, 'deliver', 'override=deliver_actor');
  } else if (observation.obs_type === 'message' && scene.message_mode === 'deliver') {
    settle(draft, 'deliver', 'message_default');
  } else if (score >= scene.deliver_threshold) settle(draft, 'deliver', 'threshold_deliver');
  else if (score >= scene.sink_threshold) settle(draft, 'sink', 'threshold_sink');
  else settle(draft, scene.default_action, 'default_action');
}

function chooseTier(draft: Draft): void {
  const { config } = draft.compiled;
  if (draft.observation.obs_type !== 'message') return;
  if (config.overrides.force_low_model) {
    draft.modelTier = 'low';
    draft.note('force_low_model');
  }
  if (draft.modelTier !== 'low') return;
  draft.lowModel = config.low_model;
  if (!config.low_model) draft.note('low_model_unset');
}

const severity = { deliver: 0, sink: 1, drop: 2 } as const;

/** Lets stages after the policy make the outcome stricter, never milder, and decides where the policy did not run. */
export function finalize(draft: Draft): void {
  if (draft.failed !== undefined) policy(draft);
  else if (draft.reason === '') replacedPolicy(draft);
  else restrict(draft);
}

function restrict(draft: Draft): void {
  if (draft.proposals.length === 0 || isSystemPlane(draft.observation)) return;
  for (const proposal of draft.proposals) {
    if (proposal.builtIn || severity[proposal.action] <= severity[draft.action]) continue;
    if (proposal.slot !== 'policy' && proposal.slot !== 'finalize') continue;
    if (proposal.action === 'sink' && isReleased(draft.observation)) continue;
    settle(draft, proposal.action, proposedReason(proposal));
  }
}
