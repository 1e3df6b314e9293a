import type { GatePool, MetricsService } from 'mortise/sdk';
import type { StageStatus } from './pipeline.js';
import type { Pools } from './pools.js';

/** Reasons that plugins make up are not bounded; metrics are. */
const reasonLimit = 200;

/** Seconds. */
const buckets = [1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 1e-2];

export type Decided = (scene: string, action: string, reason: string, seconds: number) => void;

/** Counters of decisions. Neither sessions nor actors are labels: there may be millions of them. */
export function exposeMetrics(metrics: MetricsService, pools: Pools, stages: () => readonly StageStatus[]): Decided {
  const processed = metrics.counter('mortise_gate_processed_total', 'Decisions of the gate', ['scene', 'action']);
  const reasons = metrics.counter('mortise_gate_reason_total', 'Deciding reasons', ['reason']);
  const pipeline = metrics
    .histogram('mortise_gate_pipeline_seconds', 'One pass through the gate', [], buckets)
    .bind({});
  metrics.observe('mortise_gate_pool_seen', 'Observations that were put into a pool so far', ['pool'], () =>
    (['drop', 'sink', 'tool'] as const).map((pool: GatePool) => ({ labels: { pool }, value: pools.total(pool) })),
  );
  metrics.observe('mortise_gate_stage_seconds', '99th percentile of a stage', ['stage'], () =>
    stages().map(({ key, p99_us }) => ({ labels: { stage: key }, value: p99_us / 1e6 })),
  );
  const byScene = new Map<string, Map<string, { add(): void }>>();
  const byReason = new Map<string, { add(): void }>();
  const countScene = (scene: string, action: string): void => {
    const actions = byScene.get(scene) ?? new Map<string, { add(): void }>();
    const counter = actions.get(action) ?? processed.bind({ scene, action });
    actions.set(action, counter);
    byScene.set(scene, actions);
    counter.add();
  };
  const countReason = (reason: string): void => {
    const name = byReason.has(reason) || byReason.size < reasonLimit ? reason : 'other';
    const counter = byReason.get(name) ?? reasons.bind({ reason: name });
    byReason.set(name, counter);
    counter.add();
  };
  return (scene, action, reason, seconds) => {
    countScene(scene, action);
    countReason(reason);
    pipeline.record(seconds);
  };
}
