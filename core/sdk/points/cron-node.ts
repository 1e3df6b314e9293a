import type { CallContext } from '../context.js';
import type { JsonObject } from '../json.js';

export interface CronNodeFacts {
  readonly title?: string;
  /** One line for a person. */
  readonly summary: string;
  /** JSON Schema of the node's parameters in a workflow: its members without `id`, `type`, `title`, `x`, `y`, `continue_on_error`. */
  readonly paramsSchema: Readonly<Record<string, unknown>>;
  /** Whether a run has an effect that must not be repeated after a crash; true when absent. */
  readonly effectful?: boolean;
  /** The result has a `branch`, and edges that leave the node may name theirs. */
  readonly branches?: boolean;
  /** Strings in the parameters are Liquid templates, rendered over the outputs of earlier nodes before the node runs. */
  readonly templates?: boolean;
  /** Parameters that the schema does not list are removed when a workflow is saved; they are kept when absent. */
  readonly dropsOtherParams?: boolean;
}

/** A turn of the job's session. */
export interface CronTurnRequest {
  readonly text: string;
  /** Members of `biz_params`, such as `tool`. */
  readonly business?: JsonObject;
  /** The model of this turn; the chat's own when absent. */
  readonly model?: { readonly providerId: string; readonly model: string };
  /** The only tools that the model is offered; all of the agent's when absent. */
  readonly tools?: readonly string[];
}

export interface CronNodeContext extends CallContext {
  readonly runId: string;
  readonly jobId: string;
  readonly nodeId: string;
  /** Outputs of the preceding nodes, by node id. */
  readonly results: Readonly<Record<string, unknown>>;
  readonly job: {
    readonly name: string;
    readonly taskType: string;
    readonly channel: string;
    readonly userId: string;
    readonly sessionId: string;
    /** IANA name. */
    readonly timezone: string;
  };
  readonly trigger: 'schedule' | 'manual' | 'retry' | 'recovery';
  /** RFC 3339; null for manual runs. */
  readonly scheduledAt: string | null;
  /** When the run began; RFC 3339. The same after a recovery. */
  readonly startedAt: string;
  /** When this node first began; RFC 3339. Earlier than now when an interrupted run continues. */
  readonly nodeStartedAt: string;
  /** Since this node first began, milliseconds; more than 0 when an interrupted run continues. */
  readonly nodeElapsedMs: number;
  /** When the run is aborted; epoch milliseconds. */
  readonly deadline: number;
  /** The same for every repeat of this node for this slot. */
  readonly idempotencyKey: string;
  /** The preceding node that was executed; `none` before the first. */
  readonly previous: { readonly status: 'succeeded' | 'failed' | 'none'; readonly reply: string };
  /** Does what a text task of this job does: a turn, or a message to its channel. @returns the reply; empty without a turn. */
  runText(text: string): Promise<{ readonly reply: string }>;
  /** Runs a turn in the job's session, for the job's owner. */
  runTurn(request: CronTurnRequest): Promise<{ readonly reply: string; readonly turnId: string }>;
}

export interface CronNodeResult {
  /** Ends the run here: what follows is skipped, and the run succeeds. */
  readonly stop?: boolean;
  /** Which edge to take; only of types that declare `branches`. */
  readonly branch?: 'true' | 'false';
  /** For the record and for later conditions; cut at 500 code points. */
  readonly result?: string;
  /** For templates of later nodes, as `nodes.<id>`; at most 64 KiB of JSON. */
  readonly output?: JsonObject;
}

/** What a check may query while a workflow is saved. */
interface CronCheckContext extends CallContext {
  /**
   * Whether a turn of the job could use its tools and its model now; nothing is written.
   * @throws MortiseError `tool_not_supported`, `tool_disabled`, `provider_not_found`, `provider_disabled`,
   *   `provider_not_supported`, `model_not_found`
   */
  checkTurn(request: CronTurnRequest): Promise<void>;
}

/** Why parameters are refused: a text, or the rest of a sentence that begins with `workflow node <id>`. */
export type CronNodeProblem = string | { readonly predicate: string };

export interface CronNode extends CronNodeFacts {
  /**
   * Checks parameters when a workflow is saved and before each run: without input or output and without a clock, within
   * 100 ms. Templates are not rendered yet. What it throws is a problem too.
   */
  validate?(params: JsonObject): CronNodeProblem | undefined;
  /**
   * Checks when a workflow is saved that what the parameters name exists, within 2 s; not before a run: where it has
   * been removed since, `run` fails. Templates are not rendered yet. What it throws is a problem too.
   */
  check?(params: JsonObject, ctx: CronCheckContext): Promise<CronNodeProblem | undefined>;
  /** Obeys the signal: two seconds after an abort the run no longer waits for it. */
  run(params: JsonObject, ctx: CronNodeContext): Promise<CronNodeResult>;
}
