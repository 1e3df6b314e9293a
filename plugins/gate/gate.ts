import { isSystemPlane } from 'mortise/contracts/conversation';
import type { GateAction, GateContext, GateOutcome, GateTotals } from 'mortise/contracts/gate';
import { type Alert, type Observation, Throttle } from 'mortise/sdk';
import { outcomeOf } from './decision.js';
import { Draft } from './draft.js';
import { DropMonitor, gateAlert } from './drop-monitor.js';
import type { CompiledConfig } from './gate-config.js';
import type { GateMetrics } from './metrics.js';
import type { GatePipeline, StageTrace } from './pipeline.js';
import type { SessionView } from './stage-list.js';
import { type DedupMemory, rememberContent } from './stages/dedup.js';
import { exceedsHops, policy, settle } from './stages/policy.js';

interface GateDeps {
  readonly pipeline: GatePipeline;
  readonly dedup: DedupMemory;
  readonly config: () => CompiledConfig;
  /** Whether the process is overloaded. */
  readonly overload: () => boolean;
  /** The pipeline itself has failed. */
  readonly fault: (error: unknown, now: number) => void;
  readonly alert: (alert: Alert) => void;
  readonly decided?: GateMetrics['decided'];
  /** Monotonic milliseconds, precise enough to time a pass. */
  readonly clock: () => number;
}

interface Explained {
  readonly outcome: GateOutcome;
  readonly draft: Draft;
  readonly trace: readonly StageTrace[];
}

/** Minimum milliseconds between two `loop_hops` alerts of one session. */
const loopAlertMs = 60_000;

/** Decides: drop, sink or deliver. Synchronous, deterministic, and without effects outside its own memory. */
export class Gate {
  readonly #deps: GateDeps;
  readonly #monitor = new DropMonitor();
  readonly #loopThrottle = new Throttle();
  readonly #totals = new Totals();

  constructor(deps: GateDeps) {
    this.#deps = deps;
  }

  totals(): GateTotals {
    return this.#totals.read();
  }

  handle(observation: Observation, context: GateContext): GateOutcome {
    const { clock, pipeline, dedup } = this.#deps;
    const from = clock();
    const draft = this.#draft(observation, context, false);
    try {
      pipeline.run(draft, context.session as unknown as SessionView);
      complete(draft);
      rememberContent(draft, dedup);
      this.#escalate(draft);
    } catch (error) {
      this.#deps.fault(error, context.now);
      settle(draft, isSystemPlane(observation) && !exceedsHops(draft) ? 'deliver' : 'drop', 'gate_error');
    }
    const milliseconds = clock() - from;
    const outcome = outcomeOf(draft, Math.round(milliseconds * 10_000) / 10);
    this.#totals.count(draft.action, draft.scene, draft.reason);
    this.#deps.decided?.(draft.scene, draft.action, draft.reason, milliseconds / 1_000);
    return outcome;
  }

  /** What {@link handle} would decide, with a trace of the stages. Changes no state and no counter. */
  explain(observation: Observation, context: GateContext): Explained {
    const { clock, pipeline } = this.#deps;
    const from = clock();
    const draft = this.#draft(observation, context, true);
    const trace: StageTrace[] = [];
    pipeline.run(draft, context.session as unknown as SessionView, trace);
    complete(draft);
    const outcome = outcomeOf(draft, Math.round((clock() - from) * 10_000) / 10);
    return { outcome, draft, trace };
  }

  #draft(observation: Observation, context: GateContext, dryRun: boolean): Draft {
    const overload = context.overload || this.#deps.overload();
    return new Draft(observation, this.#deps.config(), context.sessionKey, context.now, overload, dryRun);
  }

  #escalate(draft: Draft): void {
    const burst = this.#monitor.watch(draft);
    if (burst !== undefined) this.#deps.alert(burst);
    if (draft.reason !== 'loop_hops' && !draft.emitsDiscarded) return;
    if (!this.#loopThrottle.pass(draft.sessionKey, draft.now, loopAlertMs)) return;
    const { observation, compiled } = draft;
    this.#deps.alert(
      gateAlert('loop_hops', 'loop_hops', 'A chain of observations exceeded the hop limit and was ended.', {
        hop: observation.hop,
        max_hops: compiled.config.loop_guard.max_hops,
        source_name: observation.source_name,
      }),
    );
  }
}

function complete(draft: Draft): void {
  // The policy stage did not run: a closed stage failed after it or in its place.
  if (draft.reason === '' || draft.failed !== undefined) policy(draft);
  // Beyond the hop limit emits are discarded whatever the outcome: otherwise a stage that always emits never ends a chain.
  if (exceedsHops(draft)) draft.discardEmits();
}

/** Distinct reasons counted by name; plugins can make up any number. */
const reasonLimit = 500;

/** A counter changed in place. */
interface Cell {
  count: number;
}

/** Counts of decisions since the start. */
class Totals {
  readonly #byAction = { deliver: 0, sink: 0, drop: 0 };
  readonly #byScene = new Map<string, Cell>();
  readonly #byReason = new Map<string, Cell>();

  count(action: GateAction, scene: string, reason: string): void {
    this.#byAction[action] += 1;
    cellOf(this.#byScene, scene).count += 1;
    const known = this.#byReason.has(reason) || this.#byReason.size < reasonLimit;
    cellOf(this.#byReason, known ? reason : 'other').count += 1;
  }

  read(): GateTotals {
    const { deliver, sink, drop } = this.#byAction;
    return {
      processed: deliver + sink + drop,
      delivered: deliver,
      sunk: sink,
      dropped: drop,
      by_scene: numbers(this.#byScene),
      by_reason: numbers(this.#byReason),
    };
  }
}

function cellOf(cells: Map<string, Cell>, name: string): Cell {
  const known = cells.get(name);
  if (known) return known;
  const added = { count: 0 };
  cells.set(name, added);
  return added;
}

function numbers(cells: ReadonlyMap<string, Cell>): Readonly<Record<string, number>> {
  return Object.fromEntries([...cells].map(([name, { count }]) => [name, count]));
}
