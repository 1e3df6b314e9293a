import { isReleased, isSystemPlane } from '../agent-generated.js';
import type { Draft } from '../draft.js';
import { policy, proposedReason, replacedPolicy, settle } from './policy.js';

const severity = { deliver: 0, sink: 1, drop: 2 } as const;

/** Lets stages after the policy make the outcome stricter, never milder, and decides where no policy could. */
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
