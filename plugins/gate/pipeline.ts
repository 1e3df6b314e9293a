import type { GateStage, GateStageContext, Pipeline, PipelineStage } from 'mortise/sdk';
import { isSystemPlane } from './agent-generated.js';
import { type BuiltInStage, builtInStages } from './built-in-stages.js';
import type { DedupMemory } from './dedup-memory.js';
import type { Draft, Slot } from './draft.js';
import { StageHealth, type StageState } from './stage-health.js';
import { StageMemories } from './stage-memory.js';
import { StageWork } from './stage-work.js';

/** Something that the operators should hear of. */
export type StageTrouble = 'stage_slow' | 'stage_failed';

export interface PipelinePorts {
  /** Stages of other plugins. */
  readonly contributed: Pipeline<'gate-stage'>;
  readonly dedup: DedupMemory;
  readonly trouble: (what: StageTrouble, stage: string, now: number) => void;
  /** Monotonic milliseconds, fine enough to time a stage. */
  readonly clock: () => number;
  /** Where the durations of a stage are kept. */
  readonly timed?: (stage: string) => Durations;
}

interface Durations {
  record(seconds: number): void;
}

interface Step {
  readonly key: string;
  readonly slot: Slot;
  readonly order: number;
  readonly onFailure: 'closed' | 'open';
  readonly builtIn: boolean;
  readonly health: StageHealth;
  readonly durations: Durations | undefined;
  readonly run: (draft: Draft, session: GateStageContext['sessionState']) => unknown;
  /** Of a contributed stage. */
  readonly contributed?: PipelineStage<'gate-stage'>;
}

/** One row of the list of stages. */
export interface StageStatus {
  readonly key: string;
  readonly slot: Slot;
  readonly order: number;
  readonly on_failure: 'closed' | 'open';
  readonly state: StageState;
  readonly calls: number;
  readonly failures: number;
  readonly over_budget: number;
  readonly p99_us: number;
}

export interface StageTrace {
  readonly stage: string;
  readonly slot: Slot;
  readonly elapsed_us: number;
  readonly changes: readonly unknown[];
}

const pluginBudgetUs = 1_000;
/** Stages of the gate itself are timed in one pass of so many: two looks at the clock cost as much as a stage. */
const sampleEvery = 8;

/** Runs the stages over a draft, in order, and makes each failure what its stage has declared it to mean. */
export class GatePipeline {
  readonly #ports: PipelinePorts;
  readonly #builtIn: readonly BuiltInStage[];
  readonly #memories = new StageMemories();
  readonly #health = new Map<string, StageHealth>();
  #steps: readonly Step[] = [];
  #revision = -1;
  #passes = 0;

  constructor(ports: PipelinePorts) {
    this.#ports = ports;
    this.#builtIn = builtInStages(ports.dedup);
  }

  run(draft: Draft, session: GateStageContext['sessionState'], trace?: StageTrace[]): void {
    const steps = this.#current();
    const { clock } = this.#ports;
    this.#passes += 1;
    const sampled = trace !== undefined || this.#passes % sampleEvery === 0;
    for (const step of steps) {
      if (draft.failed !== undefined && step.slot !== 'finalize') continue;
      if (step.onFailure === 'open' && !step.health.admits(draft.now)) continue;
      draft.stage = step.key;
      draft.slot = step.slot;
      draft.builtIn = step.builtIn;
      const timed = sampled || !step.builtIn;
      const from = timed ? clock() : 0;
      try {
        const returned = step.run(draft, session);
        if (returned !== undefined && isThenable(returned)) {
          returned.then(undefined, () => undefined);
          this.#failed(step, draft, `stage_async:${step.key}`);
        } else if (!draft.dryRun) step.health.succeeded();
      } catch {
        this.#failed(step, draft, undefined);
      }
      if (!draft.dryRun) step.health.calls += 1;
      if (!timed) continue;
      const microseconds = (clock() - from) * 1_000;
      if (trace) {
        const changes = draft.changes?.splice(0) ?? [];
        trace.push({ stage: step.key, slot: step.slot, elapsed_us: Math.round(microseconds * 10) / 10, changes });
      } else {
        step.health.took(microseconds);
        step.durations?.record(microseconds / 1e6);
        if (step.health.slow) this.#ports.trouble('stage_slow', step.key, draft.now);
      }
    }
  }

  /** @param now monotonic milliseconds */
  status(now: number): readonly StageStatus[] {
    return this.#current().map(({ key, slot, order, onFailure, health }) => ({
      key,
      slot,
      order,
      on_failure: onFailure,
      state: health.state(now),
      calls: health.calls,
      failures: health.failed,
      over_budget: health.overBudget,
      p99_us: health.latency.quantile(0.99),
    }));
  }

  /**
   * What a stage emitted was no observation: counted as its failure. What it judged stands.
   *
   * @returns its plugin; undefined when there is no such stage any more, or it is the gate's own
   */
  slipped(stage: string): string | undefined {
    const step = this.#current().find(({ key }) => key === stage);
    step?.health.slipped();
    step?.contributed?.failed();
    return step?.contributed?.plugin;
  }

  #failed(step: Step, draft: Draft, reason: string | undefined): void {
    if (!draft.dryRun) {
      const tooOften = step.health.failure(draft.now, step.onFailure === 'open');
      if (tooOften && step.onFailure === 'closed') this.#ports.trouble('stage_failed', step.key, draft.now);
    }
    if (step.key === 'scoring') draft.rawScore = 0;
    if (step.key === 'scene') draft.scene = 'unknown';
    draft.note(reason ?? (step.onFailure === 'open' ? `stage_error:${step.key}` : `stage_failed:${step.key}`));
    if (step.onFailure === 'closed' && !isSystemPlane(draft.observation)) draft.failed ??= step.key;
  }

  #current(): readonly Step[] {
    const { contributed } = this.#ports;
    if (contributed.revision === this.#revision) return this.#steps;
    const { stages } = contributed;
    // A contribution with the key of a stage of the gate takes its place; only the last one cannot be replaced.
    const replaced = new Set(stages.map(({ key }) => key).filter((key) => key !== 'finalize'));
    const all = [
      ...this.#builtIn.filter(({ key }) => !replaced.has(key)).map((stage) => this.#ownStep(stage)),
      ...stages.filter(({ key }) => key !== 'finalize').map((stage) => this.#contributedStep(stage)),
    ];
    const slots = this.#builtIn.map(({ key }) => key);
    this.#steps = all.sort(
      (a, b) => slots.indexOf(a.slot) - slots.indexOf(b.slot) || a.order - b.order || (a.key < b.key ? -1 : 1),
    );
    const keys = new Set(stages.map(({ key }) => key));
    this.#memories.keep(keys);
    this.#revision = contributed.revision;
    return this.#steps;
  }

  #ownStep({ key, onFailure, budgetUs, apply }: BuiltInStage): Step {
    const health = this.#healthOf(`built-in/${key}`, budgetUs);
    const durations = this.#ports.timed?.(key);
    return { key, slot: key, order: 0, onFailure, builtIn: true, health, durations, run: apply };
  }

  #contributedStep(stage: PipelineStage<'gate-stage'>): Step {
    const { key, plugin, facts } = stage;
    const own = this.#builtIn.find((one) => one.key === key);
    return {
      key,
      slot: own?.key ?? facts.slot,
      order: own ? 0 : facts.order,
      onFailure: facts.onFailure ?? 'closed',
      builtIn: false,
      health: this.#healthOf(`${plugin}/${key}`, facts.budgetUs ?? pluginBudgetUs),
      durations: this.#ports.timed?.(key),
      contributed: stage,
      run: (draft, session) => {
        const ctx = this.#context(key, draft, session);
        const work = new StageWork(draft);
        try {
          return stage.run((value: GateStage): unknown => value.apply(work, ctx));
        } finally {
          work.close();
        }
      },
    };
  }

  #healthOf(name: string, budgetUs: number): StageHealth {
    const known = this.#health.get(name) ?? new StageHealth(budgetUs);
    this.#health.set(name, known);
    return known;
  }

  #context(stage: string, draft: Draft, sessionState: GateStageContext['sessionState']): GateStageContext {
    return {
      now: draft.now,
      config: draft.compiled.config as unknown as Readonly<Record<string, unknown>>,
      sessionKey: draft.sessionKey,
      sessionState,
      systemHealth: { overload: draft.overload },
      dryRun: draft.dryRun,
      memory: (name) => this.#memories.of(stage, name, draft.dryRun),
    };
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
