import type { GateAction, GateScene, LowModel, ModelTier } from 'mortise/contracts/gate';
import type { GateStage, GateWork, Observation, ObservationInput, QualityFlag } from 'mortise/sdk';
import type { CompiledConfig } from './gate-config.js';

export type Slot = GateStage['slot'];

interface Proposal {
  readonly action: GateAction;
  readonly reason: string;
  readonly stage: string;
  readonly slot: Slot;
  /** Made by a built-in stage: its reason is used without a prefix. */
  readonly builtIn: boolean;
}

/** An observation that a stage wants published. */
interface Emitted {
  readonly stage: string;
  readonly observation: ObservationInput;
}

const scenes: readonly string[] = ['dialogue', 'group', 'system', 'tool_call', 'tool_result', 'alert', 'unknown'];
/** Limits of what stages can add; exceeding one is a failure of the stage. */
const limits = { proposals: 32, tags: 64, features: 64, emits: 16, textLength: 256 };

const noProposals: readonly Proposal[] = Object.freeze([]);

/** The state of one observation in the pipeline. A stage cannot remove what another stage added. */
export class Draft implements GateWork {
  readonly observation: Observation;
  readonly compiled: CompiledConfig;
  readonly sessionKey: string;
  readonly now: number;
  readonly overload: boolean;
  /** An explanation: no state may change. */
  readonly dryRun: boolean;

  /** Set by the pipeline: the running stage. */
  stage = '';
  slot: Slot = 'scene';
  builtIn = true;

  scene: GateScene = 'unknown';
  rawScore = 0;
  proposals: readonly Proposal[] = noProposals;
  /** Key of the first closed stage that failed. */
  failed: string | undefined;
  notes: string[] | undefined;
  tags: Record<string, string> | undefined;
  flags: QualityFlag[] | undefined;
  emits: Emitted[] | undefined;
  extraFeatures: Map<string, unknown> | undefined;

  textLength = 0;
  hasQuestion = false;
  hasBotMention = false;
  keywordScore = 0;

  /** Emitted observations were discarded. */
  emitsDiscarded = false;

  fingerprint: string | null = null;
  duplicate = false;

  action: GateAction = 'drop';
  reason = '';
  emergency = false;
  modelTier: ModelTier | null = null;
  lowModel: LowModel | null = null;
  responsePolicy: string | null = null;

  /** What each stage has changed; recorded for explanations only. */
  readonly changes: unknown[] | undefined;

  constructor(
    observation: Observation,
    compiled: CompiledConfig,
    sessionKey: string,
    now: number,
    overload: boolean,
    dryRun: boolean,
  ) {
    this.observation = observation;
    this.compiled = compiled;
    this.sessionKey = sessionKey;
    this.now = now;
    this.overload = overload;
    this.dryRun = dryRun;
    this.changes = dryRun ? [] : undefined;
  }

  /** 0 to 1, three decimals. */
  get score(): number {
    return Math.round(Math.min(Math.max(this.rawScore, 0), 1) * 1_000) / 1_000;
  }

  propose(action: GateAction, reason: string): void {
    if (action !== 'drop' && action !== 'sink' && action !== 'deliver') throw new TypeError('unknown action');
    if (typeof reason !== 'string' || reason === '' || reason.length > limits.textLength) {
      throw new TypeError('a proposal needs a short reason');
    }
    if (this.proposals.length >= limits.proposals) throw new RangeError('too many proposals');
    const proposal = { action, reason, stage: this.stage, slot: this.slot, builtIn: this.builtIn };
    this.proposals = [...this.proposals, proposal];
    this.changes?.push({ propose: action, reason });
  }

  tag(key: string, value: string): void {
    this.tags ??= {};
    const name = short(key);
    if (!Object.hasOwn(this.tags, name) && Object.keys(this.tags).length >= limits.tags) {
      throw new RangeError('too many tags');
    }
    define(this.tags, name, short(value));
    this.changes?.push({ tag: key, value });
  }

  feature(key: string, value: unknown): void {
    this.extraFeatures ??= new Map();
    if (!this.extraFeatures.has(key) && this.extraFeatures.size >= limits.features) {
      throw new RangeError('too many features');
    }
    this.extraFeatures.set(short(key), value);
    this.changes?.push({ feature: key, value });
  }

  setScene(scene: string): void {
    if (!scenes.includes(scene)) throw new TypeError('unknown scene');
    this.scene = scene as GateScene;
    this.changes?.push({ scene });
  }

  addScore(amount: number, why: string): void {
    if (!Number.isFinite(amount)) throw new TypeError('a score is a finite number');
    this.rawScore += amount;
    this.changes?.push({ score: amount, why });
  }

  emit(observation: ObservationInput): void {
    this.emits ??= [];
    // Counted per stage: one must not use up the limit of another.
    const own = this.emits.reduce((count, { stage }) => (stage === this.stage ? count + 1 : count), 0);
    if (own >= limits.emits) throw new RangeError('too many observations to emit');
    this.emits.push({ stage: this.stage, observation });
    // It is validated when it is published.
    const given = observation as ObservationInput | null | undefined;
    this.changes?.push({ emit: given?.obs_type ?? 'message', source_name: given?.source_name });
  }

  /** Discards what stages emitted. */
  discardEmits(): void {
    this.emitsDiscarded = this.emits !== undefined;
    this.emits = undefined;
  }

  /** Adds a reason that does not decide. */
  note(reason: string): void {
    this.notes ??= [];
    this.notes.push(reason);
    this.changes?.push({ note: reason });
  }

  flag(flag: QualityFlag): void {
    this.flags ??= [];
    this.flags.push(flag);
    this.changes?.push({ flag });
  }
}

function short(value: string): string {
  return String(value).slice(0, limits.textLength);
}

/** Unlike an assignment, it also works for `__proto__`. */
function define(target: Record<string, string>, name: string, value: string): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

/** The reason of a proposal as decisions show it. */
export function proposedReason({ builtIn, slot, stage, reason }: Proposal): string {
  return builtIn || slot === 'hard-bypass' ? reason : `stage:${stage}:${reason}`;
}

/** Released from a pool by an operator: exempt from dedup, emergency mode and SINK proposals. */
export function isReleased(observation: Observation): boolean {
  return observation.metadata.released_from !== undefined;
}
