import { isSystemPlane } from 'mortise/contracts/conversation';
import type { Pipeline } from 'mortise/sdk';
import type { Draft, Slot } from './draft.js';
import type { StageState } from './stage-health.js';
import { type Durations, type SessionView, StageList, type Step } from './stage-list.js';
import type { DedupMemory } from './stages/dedup.js';

interface PipelineDeps {
  /** Stages of other plugins. */
  readonly contributed: Pipeline<'gate-stage'>;
  readonly dedup: DedupMemory;
  /** Raises an alert about a stage. */
  readonly alert: (code: 'stage_slow' | 'stage_failed', stage: string, now: number) => void;
  /** Monotonic milliseconds, precise enough to time a stage. */
  readonly clock: () => number;
  readonly durationsOf?: (stage: string) => Durations;
}

/** One row of the list of stages. */
interface StageStatus {
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

/** What one stage changed, for an explanation. */
export interface StageTrace {
  readonly stage: string;
  readonly slot: Slot;
  readonly elapsed_us: number;
  readonly changes: readonly unknown[];
}

/** Built-in stages are timed in one pass of eight: reading the clock twice costs as much as a stage. */
const sampleEvery = 8;

/** Runs the stages of {@link StageList} over a draft, and applies the failure rule of each. */
export class GatePipeline {
  readonly #deps: PipelineDeps;
  readonly #stages: StageList;
  #passes = 0;

  constructor(deps: PipelineDeps) {
    this.#deps = deps;
    this.#stages = new StageList(deps.contributed, deps.dedup, deps.durationsOf);
  }

  run(draft: Draft, session: SessionView, trace?: StageTrace[]): void {
    const steps = this.#stages.current();
    const { clock } = this.#deps;
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
        if (step.health.slow) this.#deps.alert('stage_slow', step.key, draft.now);
      }
    }
  }

  /** @param now monotonic milliseconds */
  status(now: number): readonly StageStatus[] {
    return this.#stages.current().map(({ key, slot, order, onFailure, health }) => ({
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
   * Counts an invalid observation emitted by a stage as its failure. Its decision stays valid.
   *
   * @returns the stage's plugin; undefined for a built-in stage or one that was withdrawn
   */
  emittedInvalid(stage: string): string | undefined {
    const step = this.#stages.current().find(({ key }) => key === stage);
    step?.health.emittedInvalid();
    step?.contributed?.failed();
    return step?.contributed?.plugin;
  }

  #failed(step: Step, draft: Draft, reason: string | undefined): void {
    if (!draft.dryRun) {
      const tooOften = step.health.failure(draft.now, step.onFailure === 'open');
      if (tooOften && step.onFailure === 'closed') this.#deps.alert('stage_failed', step.key, draft.now);
    }
    if (step.key === 'scoring') draft.rawScore = 0;
    if (step.key === 'scene') draft.scene = 'unknown';
    draft.note(reason ?? (step.onFailure === 'open' ? `stage_error:${step.key}` : `stage_failed:${step.key}`));
    if (step.onFailure === 'closed' && !isSystemPlane(draft.observation)) draft.failed ??= step.key;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
