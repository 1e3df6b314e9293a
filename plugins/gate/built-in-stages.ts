import type { DedupMemory } from './dedup-memory.js';
import type { Draft, Slot } from './draft.js';
import { dedup } from './stages/dedup.js';
import { feature } from './stages/feature.js';
import { finalize } from './stages/finalize.js';
import { hardBypass } from './stages/hard-bypass.js';
import { policy } from './stages/policy.js';
import { scene } from './stages/scene.js';
import { scoring } from './stages/scoring.js';

export interface BuiltInStage {
  /** Its slot is its key. */
  readonly key: Slot;
  readonly onFailure: 'closed' | 'open';
  readonly budgetUs: number;
  readonly apply: (draft: Draft) => void;
}

/** The gate's own stage of each slot, in the order in which the slots run. */
export function builtInStages(memory: DedupMemory): readonly BuiltInStage[] {
  return [
    { key: 'scene', onFailure: 'open', budgetUs: 200, apply: scene },
    { key: 'hard-bypass', onFailure: 'closed', budgetUs: 200, apply: hardBypass },
    { key: 'feature', onFailure: 'open', budgetUs: 200, apply: feature },
    { key: 'scoring', onFailure: 'open', budgetUs: 200, apply: scoring },
    { key: 'dedup', onFailure: 'open', budgetUs: 1_000, apply: (draft) => dedup(draft, memory) },
    { key: 'policy', onFailure: 'closed', budgetUs: 200, apply: policy },
    { key: 'finalize', onFailure: 'closed', budgetUs: 200, apply: finalize },
  ];
}
