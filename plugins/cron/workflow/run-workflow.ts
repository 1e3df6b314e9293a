import { type CallContext, type CronNodeContext, type CronNodeResult, callOptions, maskDeep } from 'mortise/sdk';
import type {
  CronJobSpec,
  CronTrigger,
  CronWorkflow,
  NodeExecution,
  WorkflowExecution,
  WorkflowNode,
} from '../contract/index.js';
import { causeOf, cronError } from '../errors.js';
import { nodeKey } from '../idempotency-key.js';
import { abortOf } from '../run-aborted.js';
import { timeText } from '../times.js';
import type { NodeTypes } from './node-types.js';
import { paramsOf } from './read-workflow.js';
import { renderParams } from './templates.js';
import { startOf, validateWorkflow } from './validate-workflow.js';

const resultPoints = 500;
const maxInputBytes = 4_096;
const maxOutputBytes = 65_536;

/** What a workflow needs of its run. */
interface WorkflowRun {
  readonly spec: CronJobSpec;
  readonly runId: string;
  readonly trigger: CronTrigger;
  readonly scheduledAt: string | null;
  /** Idempotency key of the slot. */
  readonly key: string;
  /** Epoch milliseconds. */
  readonly deadline: number;
  readonly ctx: CallContext;
  readonly types: NodeTypes;
  readonly now: () => number;
  /** Where an interrupted run stood; its finished nodes are not repeated. */
  readonly earlier: WorkflowExecution | undefined;
  /** Stores the record before a node begins and after it ended. @throws RunAborted when the run is lost or cancelled */
  progress(execution: WorkflowExecution, effect: boolean): Promise<void>;
  nodeChanged(node: NodeExecution): void;
  deliver(key: string): Pick<CronNodeContext, 'runText' | 'runTurn'>;
}

/**
 * A running workflow: one path from the start node along the edges, one node after another. The record is complete at any
 * moment, also when a node does not return.
 */
export class WorkflowRunner {
  readonly #run: WorkflowRun;
  readonly #startedAt: string;
  readonly #executed: NodeExecution[] = [];
  #firstError: string | undefined;
  #workflow: CronWorkflow;
  #previous: CronNodeContext['previous'] = { status: 'none', reply: '' };

  constructor(run: WorkflowRun, workflow: CronWorkflow) {
    this.#run = run;
    this.#workflow = workflow;
    this.#startedAt = run.earlier?.started_at ?? timeText(run.now());
  }

  /** @throws MortiseError `cron_run_failed` with the first failure */
  async execute(): Promise<void> {
    const { spec, types, earlier } = this.#run;
    try {
      this.#workflow = await validateWorkflow(this.#workflow, types);
    } catch (error) {
      const message = causeOf(error);
      const unknown = /^workflow node .* has (unsupported type=".*")$/s.exec(message);
      throw cronError('cron_run_failed', {
        message: unknown
          ? `unsupported workflow node ${unknown[1]?.replace('unsupported ', '')}`
          : `invalid cron workflow: ${message}`,
      });
    }
    const finished = new Map(earlier?.nodes.map((node) => [node.node_id, node]));
    let node = this.#after(startOf(this.#workflow.nodes), undefined);
    while (node) {
      const known = finished.get(node.id);
      const isFinished = known !== undefined && (known.status === 'succeeded' || known.status === 'failed');
      const outcome = isFinished ? this.#adopt(node, known) : await this.#runNode(spec, node, known?.started_at);
      if (outcome.stop === true) break;
      node = this.#after(node.id, outcome);
    }
    if (this.#firstError !== undefined) throw cronError('cron_run_failed', { message: this.#firstError });
  }

  /** The record so far: a node that has not returned has failed with `error`, and what was not executed is skipped. */
  record(error?: string): WorkflowExecution {
    const finishedAt = timeText(this.#run.now());
    const executed = this.#executed.map((node): NodeExecution => {
      if (node.status !== 'running') return node;
      return { ...node, status: 'failed', finished_at: finishedAt, error: error ?? 'the run was interrupted' };
    });
    const ids = new Set(executed.map(({ node_id }) => node_id));
    const skipped = this.#inOrder()
      .filter(({ id, type }) => type !== 'start' && !ids.has(id))
      .map((node): NodeExecution => ({ ...identityOf(node), status: 'skipped' }));
    return {
      run_id: this.#run.runId,
      started_at: this.#startedAt,
      finished_at: finishedAt,
      had_failures: executed.some(({ status }) => status === 'failed'),
      nodes: [...executed, ...skipped],
    };
  }

  /** The first failure, or that of the node that is running. */
  failure(cause: string): string {
    const running = this.#executed.find(({ status }) => status === 'running');
    return this.#firstError ?? (running ? failureOf(running.node_id, cause) : cause);
  }

  /** Nodes along the path; of a branched workflow in the order of the document. */
  #inOrder(): readonly WorkflowNode[] {
    const { nodes, edges } = this.#workflow;
    if (edges.some(({ branch }) => branch !== undefined)) return nodes;
    const path: WorkflowNode[] = [];
    const left = new Set(nodes);
    for (let id: string | undefined = startOf(nodes); id !== undefined; ) {
      const node = nodes.find((one) => one.id === id);
      if (!node || !left.delete(node)) break;
      path.push(node);
      id = edges.find(({ source }) => source === node.id)?.target;
    }
    return [...path, ...left];
  }

  #after(id: string, outcome: CronNodeResult | undefined): WorkflowNode | undefined {
    const { nodes, edges } = this.#workflow;
    const leaving = edges.filter(({ source }) => source === id);
    const branch = outcome?.branch;
    const edge = branch === undefined ? leaving[0] : leaving.find((one) => (one.branch ?? 'true') === branch);
    return nodes.find((node) => node.id === edge?.target);
  }

  /** A node that an interrupted run has finished. */
  #adopt(node: WorkflowNode, known: NodeExecution): CronNodeResult {
    this.#executed.push(known);
    this.#follow(known);
    if (known.status === 'failed') this.#firstError ??= failureOf(known.node_id, known.error ?? '');
    return this.#outcomeOf(node, known.status === 'failed' ? {} : resultOf(known));
  }

  async #runNode(spec: CronJobSpec, node: WorkflowNode, startedBefore: string | undefined): Promise<CronNodeResult> {
    const { ctx, types, now } = this.#run;
    const index = this.#executed.length;
    const begun: NodeExecution = {
      ...identityOf(node),
      status: 'running',
      started_at: startedBefore ?? timeText(now()),
    };
    this.#executed.push(begun);
    let ended: NodeExecution;
    let outcome: CronNodeResult = {};
    try {
      const facts = types.facts(node.type);
      const params = facts?.templates ? renderParams(paramsOf(node), this.#scope(spec)) : paramsOf(node);
      const input = limited(maskDeep(params), maxInputBytes);
      this.#executed[index] = { ...begun, ...(input === undefined ? {} : { input }) };
      await this.#store(facts?.effectful !== false);
      this.#run.nodeChanged(this.#executed[index] ?? begun);
      outcome = await types.run(node.type, params, this.#context(spec, node, begun), callOptions(ctx));
      const aborted = abortOf(ctx.signal);
      if (aborted) throw aborted;
      const output = limited(outcome.output, maxOutputBytes);
      if (outcome.output !== undefined && output === undefined) {
        throw cronError('cron_run_failed', { message: `the output has more than ${maxOutputBytes} bytes` });
      }
      ended = {
        ...(this.#executed[index] ?? begun),
        status: 'succeeded',
        finished_at: timeText(now()),
        ...(outcome.result === undefined ? {} : { result: cut(outcome.result) }),
        ...(output === undefined ? {} : { output }),
      };
    } catch (error) {
      const aborted = abortOf(ctx.signal);
      const cause = aborted?.message ?? causeOf(error);
      ended = {
        ...(this.#executed[index] ?? begun),
        status: 'failed',
        finished_at: timeText(now()),
        error: cause,
      };
      this.#firstError ??= failureOf(node.id, cause);
      outcome = {};
    }
    this.#executed[index] = ended;
    this.#run.nodeChanged(ended);
    const aborted = abortOf(ctx.signal);
    if (aborted)
      throw this.#firstError === undefined ? aborted : cronError('cron_run_failed', { message: this.#firstError });
    if (ended.status === 'failed' && !ended.continue_on_error) return { stop: true };
    await this.#store(false);
    this.#follow(ended);
    return this.#outcomeOf(node, outcome);
  }

  /** A condition that failed and continues takes its false edge. */
  #outcomeOf(node: WorkflowNode, outcome: CronNodeResult): CronNodeResult {
    if (!this.#run.types.facts(node.type)?.branches) return { stop: outcome.stop === true };
    return { stop: outcome.stop === true, branch: outcome.branch ?? 'false' };
  }

  async #store(effect: boolean): Promise<void> {
    const execution = {
      run_id: this.#run.runId,
      started_at: this.#startedAt,
      had_failures: this.#executed.some(({ status }) => status === 'failed'),
      nodes: this.#executed,
    };
    await this.#run.progress(execution, effect);
  }

  #follow({ status, node_type, result, output }: NodeExecution): void {
    const reply = result ?? (typeof output?.reply === 'string' ? output.reply : undefined);
    const isCondition = this.#run.types.facts(node_type)?.branches === true;
    this.#previous = {
      status: status === 'failed' ? 'failed' : 'succeeded',
      reply: isCondition || reply === undefined ? this.#previous.reply : reply,
    };
  }

  #outputs(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(
      this.#executed.flatMap(({ node_id, output, result, status }) =>
        status === 'running' ? [] : [[node_id, { status, ...(result === undefined ? {} : { result }), ...output }]],
      ),
    );
  }

  #scope(spec: CronJobSpec) {
    const { runId, trigger, scheduledAt } = this.#run;
    return {
      nodes: this.#outputs(),
      prev: this.#previous,
      job: { id: spec.id, name: spec.name },
      run: { id: runId, trigger, scheduled_at: scheduledAt },
    };
  }

  #context(spec: CronJobSpec, node: WorkflowNode, begun: NodeExecution) {
    const { runId, trigger, scheduledAt, key, deadline } = this.#run;
    const { channel, target } = spec.dispatch;
    const idempotencyKey = nodeKey(key, node.id);
    const nodeStartedAt = begun.started_at ?? this.#startedAt;
    return {
      runId,
      jobId: spec.id,
      nodeId: node.id,
      results: this.#outputs(),
      job: {
        name: spec.name,
        taskType: spec.task_type,
        channel,
        userId: target.user_id,
        sessionId: target.session_id,
        timezone: spec.schedule.timezone,
      },
      trigger,
      scheduledAt,
      startedAt: this.#startedAt,
      nodeStartedAt,
      nodeElapsedMs: Math.max(0, this.#run.now() - Date.parse(nodeStartedAt)),
      deadline,
      idempotencyKey,
      previous: this.#previous,
      ...this.#run.deliver(idempotencyKey),
    };
  }
}

function identityOf({ id, type, continue_on_error }: WorkflowNode) {
  return { node_id: id, node_type: type, continue_on_error: continue_on_error === true } as const;
}

function failureOf(nodeId: string, cause: string): string {
  return `workflow node ${nodeId} failed: ${cause}`;
}

function resultOf({ result, output }: NodeExecution): CronNodeResult {
  return {
    ...(result === undefined ? {} : { result }),
    ...(output === undefined ? {} : { output }),
    ...(result === 'true' || result === 'false' ? { branch: result } : {}),
  };
}

function cut(text: string): string {
  return text.length <= resultPoints ? text : [...text].slice(0, resultPoints).join('');
}

/** A JSON object of limited size; undefined when it is larger, or none. */
function limited(value: unknown, maxBytes: number): Readonly<Record<string, unknown>> | undefined {
  if (value === undefined) return undefined;
  return Buffer.byteLength(JSON.stringify(value)) > maxBytes ? undefined : (value as Readonly<Record<string, unknown>>);
}
