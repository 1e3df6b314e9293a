import type { GateAction, GatePool } from 'mortise/contracts/gate';
import type { MetricsService } from 'mortise/sdk';
import type { Pools } from './pools.js';

/** Distinct reasons used as labels: plugins can make up any number. */
const reasonLimit = 200;

/** Seconds. */
const buckets = [1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 1e-2];

interface Counted {
  add(): void;
}

export interface GateMetrics {
  readonly decided: (scene: string, action: GateAction, reason: string, seconds: number) => void;
  /** Counts an invalid observation emitted by a stage. */
  readonly emittedInvalid: (stage: string, plugin: string) => void;
  /** Records the durations of one stage. */
  readonly durationsOf: (key: string) => { record(seconds: number): void };
}

/** Registers the metrics of the gate. Sessions and actors are never labels: there may be millions of them. */
export function exposeMetrics(metrics: MetricsService, pools: Pools): GateMetrics {
  const decisions = metrics.counter('mortise_gate_decisions_total', 'Decisions', ['action', 'scene', 'reason']);
  const processed = metrics.counter('mortise_gate_processed_total', 'Decisions by scene', ['scene', 'action']);
  const reasons = metrics.counter('mortise_gate_reason_total', 'Deciding reasons', ['reason']);
  const pipeline = metrics
    .histogram('mortise_gate_pipeline_seconds', 'One pass through the gate', [], buckets)
    .bind({});
  const stages = metrics.histogram('mortise_gate_stage_seconds', 'Passes through a stage', ['stage'], buckets);
  metrics.observe('mortise_gate_pool_seen', 'Observations added to a pool so far', ['pool'], () =>
    (['drop', 'sink', 'tool'] as const).map((pool: GatePool) => ({ labels: { pool }, value: pools.total(pool) })),
  );
  const invalid = metrics.counter('mortise_gate_emit_invalid_total', 'Invalid observations emitted by stages', [
    'stage',
    'plugin',
  ]);
  const names = new Set<string>();
  const known = new Map<string, Readonly<Record<GateAction, Map<string, readonly Counted[]>>>>();
  const countersOf = (scene: string, action: GateAction, reason: string): readonly Counted[] => {
    if (names.size < reasonLimit) names.add(reason);
    const name = names.has(reason) ? reason : 'other';
    return [
      decisions.bind({ action, scene, reason: name }),
      processed.bind({ scene, action }),
      reasons.bind({ reason: name }),
    ];
  };
  return {
    durationsOf: (stage) => stages.bind({ stage }),
    emittedInvalid: (stage, plugin) => invalid.add(1, { stage, plugin }),
    decided(scene, action, reason, seconds) {
      let ofScene = known.get(scene);
      if (!ofScene) {
        ofScene = { deliver: new Map(), sink: new Map(), drop: new Map() };
        known.set(scene, ofScene);
      }
      const byReason = ofScene[action];
      let counters = byReason.get(reason);
      if (!counters) {
        counters = countersOf(scene, action, reason);
        if (byReason.size < reasonLimit) byReason.set(reason, counters);
      }
      for (const counter of counters) counter.add();
      pipeline.record(seconds);
    },
  };
}
