import type {
  GateStage,
  GateStageContext,
  GateWork,
  Observation,
  ObservationInput,
  Pipeline,
  PipelineStage,
} from 'mortise/sdk';
import type { Draft, Slot } from './draft.js';
import { StageHealth } from './stage-health.js';
import { feature, hardBypass, scene, scoring } from './stages/content.js';
import { type DedupMemory, dedup } from './stages/dedup.js';
import { finalize, policy } from './stages/policy.js';

/** The gate's own stage of a slot; its key is the slot. */
interface BuiltInStage {
  readonly key: Slot;
  readonly onFailure: 'closed' | 'open';
  readonly budgetUs: number;
  readonly apply: (draft: Draft) => void;
}

/** The slots in the order in which they run, each with the gate's own stage. */
function builtInStages(memory: DedupMemory): readonly BuiltInStage[] {
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

/** Budget of a contributed stage that declares none, microseconds. */
const pluginBudgetUs = 1_000;

export type SessionView = GateStageContext['sessionState'];

/** A stage as the pipeline runs it. */
export interface Step {
  readonly key: string;
  readonly slot: Slot;
  readonly order: number;
  readonly onFailure: 'closed' | 'open';
  readonly builtIn: boolean;
  readonly health: StageHealth;
  readonly durations: Durations | undefined;
  readonly run: (draft: Draft, session: SessionView) => unknown;
  readonly contributed?: PipelineStage<'gate-stage'>;
}

/** Records the durations of one stage. */
export interface Durations {
  record(seconds: number): void;
}

/**
 * The stages in the order in which they run: by slot, then by `order` (the gate's own stage has 0), then by key. A
 * contribution with the key of a built-in stage replaces it, except `finalize`.
 *
 * A built-in stage gets the {@link Draft}. A contributed stage gets a {@link StageWork}, which only adds to the draft, and
 * the {@link GateStageContext} of {@link contextOf}.
 */
export class StageList {
  readonly #contributed: Pipeline<'gate-stage'>;
  readonly #builtIn: readonly BuiltInStage[];
  readonly #durationsOf: ((stage: string) => Durations) | undefined;
  readonly #memories = new StageMemories();
  readonly #health = new Map<string, StageHealth>();
  #steps: readonly Step[] = [];
  #revision = -1;

  constructor(
    contributed: Pipeline<'gate-stage'>,
    dedupMemory: DedupMemory,
    durationsOf: ((stage: string) => Durations) | undefined,
  ) {
    this.#contributed = contributed;
    this.#builtIn = builtInStages(dedupMemory);
    this.#durationsOf = durationsOf;
  }

  /** Built again only when contributions have changed; an observation in flight keeps the list it started with. */
  current(): readonly Step[] {
    const { revision, stages } = this.#contributed;
    if (revision === this.#revision) return this.#steps;
    const contributed = stages.filter(({ key }) => key !== 'finalize');
    const keys = new Set(contributed.map(({ key }) => key));
    const slots = this.#builtIn.map(({ key }) => key);
    this.#steps = [
      ...this.#builtIn.filter(({ key }) => !keys.has(key)).map((stage) => this.#builtInStep(stage)),
      ...contributed.map((stage) => this.#contributedStep(stage)),
    ].sort((a, b) => slots.indexOf(a.slot) - slots.indexOf(b.slot) || a.order - b.order || (a.key < b.key ? -1 : 1));
    this.#memories.retain(keys);
    this.#revision = revision;
    return this.#steps;
  }

  #builtInStep({ key, onFailure, budgetUs, apply }: BuiltInStage): Step {
    const health = this.#healthOf(`built-in/${key}`, budgetUs);
    const durations = this.#durationsOf?.(key);
    return { key, slot: key, order: 0, onFailure, builtIn: true, health, durations, run: apply };
  }

  #contributedStep(stage: PipelineStage<'gate-stage'>): Step {
    const { key, plugin, facts } = stage;
    const replaced = this.#builtIn.find((one) => one.key === key);
    return {
      key,
      slot: replaced?.key ?? facts.slot,
      order: replaced ? 0 : facts.order,
      onFailure: facts.onFailure ?? 'closed',
      builtIn: false,
      health: this.#healthOf(`${plugin}/${key}`, facts.budgetUs ?? pluginBudgetUs),
      durations: this.#durationsOf?.(key),
      contributed: stage,
      run: (draft, session) => {
        const ctx = contextOf(draft, session, (name) => this.#memories.of(key, name, draft.dryRun));
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
}

/** What a contributed stage sees beside the observation. */
function contextOf(draft: Draft, sessionState: SessionView, memory: GateStageContext['memory']): GateStageContext {
  return {
    now: draft.now,
    config: draft.compiled.config as unknown as Readonly<Record<string, unknown>>,
    sessionKey: draft.sessionKey,
    sessionState,
    systemHealth: { overload: draft.overload },
    dryRun: draft.dryRun,
    memory,
  };
}

/** What a contributed stage can change: it can add to the draft while it runs, and never afterwards. */
class StageWork implements GateWork {
  #draft: Draft | undefined;
  readonly observation: Observation;

  constructor(draft: Draft) {
    this.#draft = draft;
    this.observation = draft.observation;
  }

  propose(action: 'drop' | 'sink' | 'deliver', reason: string): void {
    this.#open().propose(action, reason);
  }

  tag(key: string, value: string): void {
    this.#open().tag(key, value);
  }

  feature(key: string, value: unknown): void {
    this.#open().feature(key, value);
  }

  setScene(scene: string): void {
    this.#open().setScene(scene);
  }

  addScore(amount: number, why: string): void {
    this.#open().addScore(amount, why);
  }

  emit(observation: ObservationInput): void {
    this.#open().emit(observation);
  }

  close(): void {
    this.#draft = undefined;
  }

  #open(): Draft {
    if (!this.#draft) throw new Error('the stage has ended');
    return this.#draft;
  }
}

/** Entries of one memory. */
const entryLimit = 10_000;
/** Memories of one stage. */
const memoryLimit = 16;

/** A map that evicts its oldest entry when it is full. */
class BoundedMap extends Map<string, unknown> {
  override set(key: string, value: unknown): this {
    if (!this.has(key) && this.size >= entryLimit) {
      const [oldest] = this.keys();
      if (oldest !== undefined) this.delete(oldest);
    }
    return super.set(key, value);
  }
}

/** The memories of contributed stages. A dry run gets a copy. */
class StageMemories {
  readonly #byStage = new Map<string, Map<string, BoundedMap>>();

  /** @throws RangeError when a stage asks for too many */
  of(stage: string, name: string, dryRun: boolean): Map<string, unknown> {
    const own = this.#byStage.get(stage) ?? new Map<string, BoundedMap>();
    const known = own.get(name);
    if (dryRun) return new BoundedMap(known);
    if (known) return known;
    if (own.size >= memoryLimit) throw new RangeError(`a stage has at most ${memoryLimit} memories`);
    const added = new BoundedMap();
    own.set(name, added);
    this.#byStage.set(stage, own);
    return added;
  }

  /** Drops the memories of all other stages. */
  retain(stages: ReadonlySet<string>): void {
    for (const stage of this.#byStage.keys()) if (!stages.has(stage)) this.#byStage.delete(stage);
  }
}
