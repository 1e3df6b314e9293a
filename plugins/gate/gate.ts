import {
  type Alert,
  type GateContext,
  type GateOutcome,
  type GateStageContext,
  type GateTotals,
  type Observation,
  Throttle,
} from 'mortise/sdk';
import { isSystemPlane } from './agent-generated.js';
import type { CompiledConfig } from './compile-config.js';
import { outcomeOf } from './decision.js';
import type { DedupMemory } from './dedup-memory.js';
import { Draft } from './draft.js';
import { DropMonitor, gateAlert } from './drop-monitor.js';
import type { GateMetrics } from './metrics.js';
import type { GatePipeline, StageTrace } from './pipeline.js';
import { rememberContent } from './stages/dedup.js';
import { policy, settle } from './stages/policy.js';
import { Totals } from './totals.js';

export interface GatePorts {
  readonly pipeline: GatePipeline;
  readonly dedup: DedupMemory;
  readonly config: () => CompiledConfig;
  /** What is known outside of the call. */
  readonly overload: () => boolean;
  /** The runner itself has failed. */
  readonly fault: (error: unknown, now: number) => void;
  readonly alert: (alert: Alert) => void;
  readonly decided?: GateMetrics['decided'];
  /** Monotonic milliseconds, fine enough to time a pass. */
  readonly clock: () => number;
}

export interface Explained {
  readonly outcome: GateOutcome;
  readonly draft: Draft;
  readonly trace: readonly StageTrace[];
}

/** How long a session keeps quiet about its chains, milliseconds. */
const loopQuietMs = 60_000;

/** Decides: drop, put aside or deliver. Synchronous, deterministic, and without effects outside of its own memory. */
export class Gate {
  readonly #ports: GatePorts;
  readonly #monitor = new DropMonitor();
  readonly #loops = new Throttle();
  readonly #totals = new Totals();

  constructor(ports: GatePorts) {
    this.#ports = ports;
  }

  totals(): GateTotals {
    return this.#totals.read();
  }

  handle(observation: Observation, context: GateContext): GateOutcome {
    const { clock, pipeline, dedup } = this.#ports;
    const from = clock();
    const draft = this.#draft(observation, context, false);
    try {
      pipeline.run(draft, context.session as unknown as GateStageContext['sessionState']);
      complete(draft);
      rememberContent(draft, dedup);
      this.#escalate(draft);
    } catch (error) {
      this.#ports.fault(error, context.now);
      settle(draft, isSystemPlane(observation) ? 'deliver' : 'drop', 'gate_error');
    }
    const milliseconds = clock() - from;
    const outcome = outcomeOf(draft, Math.round(milliseconds * 10_000) / 10);
    this.#totals.count(draft.action, draft.scene, draft.reason);
    this.#ports.decided?.(draft.scene, draft.action, draft.reason, milliseconds / 1_000);
    return outcome;
  }

  /** What {@link handle} would decide, and how it comes to it; nothing is remembered or counted. */
  explain(observation: Observation, context: GateContext): Explained {
    const { clock, pipeline } = this.#ports;
    const from = clock();
    const draft = this.#draft(observation, context, true);
    const trace: StageTrace[] = [];
    pipeline.run(draft, context.session as unknown as GateStageContext['sessionState'], trace);
    complete(draft);
    const outcome = outcomeOf(draft, Math.round((clock() - from) * 10_000) / 10);
    return { outcome, draft, trace };
  }

  #draft(observation: Observation, context: GateContext, dryRun: boolean): Draft {
    const overload = context.overload || this.#ports.overload();
    return new Draft(observation, this.#ports.config(), context.sessionKey, context.now, overload, dryRun);
  }

  #escalate(draft: Draft): void {
    const burst = this.#monitor.watch(draft);
    if (burst !== undefined) this.#ports.alert(burst);
    if (draft.reason !== 'loop_hops' && !draft.silenced) return;
    if (!this.#loops.pass(draft.sessionKey, draft.now, loopQuietMs)) return;
    const { observation, compiled } = draft;
    this.#ports.alert(
      gateAlert('loop_hops', 'loop_hops', 'A chain of observations was too long and has been ended.', {
        hop: observation.hop,
        max_hops: compiled.config.loop_guard.max_hops,
        source_name: observation.source_name,
      }),
    );
  }
}

function complete(draft: Draft): void {
  // A closed stage may have failed where no policy came after it, the last one included.
  if (draft.reason === '' || draft.failed !== undefined) policy(draft);
  // Whatever becomes of the last link of a chain, a stage that emits what it emits again adds no further one.
  if (draft.observation.hop > draft.compiled.config.loop_guard.max_hops) draft.silence();
}
