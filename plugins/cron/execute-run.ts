import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowExecution } from './contract/index.js';
import type { CronDeps } from './cron-deps.js';
import { type Delivery, deliverText, runContext, runTurn } from './deliver-text.js';
import { causeOf } from './errors.js';
import { effectiveRuntime } from './read-job-spec.js';
import { abortOf } from './run-aborted.js';
import type { RunEnd } from './store/finish-runs.js';
import { shownNode } from './store/rows.js';
import type { StartedRun } from './store/start-runs.js';
import { WorkflowRunner } from './workflow/run-workflow.js';

/** How long the run waits for work that was aborted, milliseconds. */
const graceMs = 2_000;
const resultPoints = 500;

interface RunControl {
  readonly signal: AbortSignal;
  /**
   * Called before an effect begins and after a node ended.
   * @throws RunAborted when the run is lost or cancelled: the effect must not begin
   */
  progress(step: { readonly effect: boolean; readonly execution: WorkflowExecution | undefined }): Promise<void>;
}

/** Executes a run. Never rejects: a failure of the task is the outcome of the run. */
export async function executeRun(deps: CronDeps, started: StartedRun, control: RunControl): Promise<RunEnd> {
  const owner = deps.ownerNow(started.owner);
  if (!owner) {
    const message = `the job belongs to "${started.owner.id}", and no key has this id any more; save the job with another key`;
    return { status: 'failed', error: message, result: null, execution: undefined };
  }
  const run = { ...started, owner };
  const { spec } = run;
  const deadline = deps.clock.now() + effectiveRuntime(spec.runtime).timeoutSeconds * 1_000;
  const task = spec.workflow ? workflowTask(deps, run, control, deadline) : textTask(deps, run, control, deadline);
  const [error, result] = await settle(task.work(), control.signal);
  const aborted = abortOf(control.signal);
  if (error === undefined) {
    return { status: 'succeeded', error: null, result: result ?? null, execution: task.record?.(undefined) };
  }
  const cause = aborted?.message ?? causeOf(error);
  return {
    status: aborted?.kind === 'cancelled' ? 'cancelled' : 'failed',
    error: aborted?.kind === 'timeout' ? (task.failure?.(cause) ?? cause) : cause,
    result: null,
    execution: task.record?.(cause),
  };
}

interface Task {
  work(): Promise<string | undefined>;
  record?(error: string | undefined): WorkflowExecution;
  /** The error of a run that was aborted for this cause. */
  failure?(cause: string): string;
}

function textTask(deps: CronDeps, run: StartedRun, control: RunControl, deadline: number): Task {
  const ctx = runContext(deps, run, control.signal);
  const delivery: Delivery = { spec: run.spec, ctx, key: run.row.idempotency_key, deadline };
  return {
    async work() {
      await control.progress({ effect: true, execution: undefined });
      const { reply } = await deliverText(deps, run.spec.text ?? '', delivery);
      return reply === '' ? undefined : [...reply.slice(0, resultPoints * 2)].slice(0, resultPoints).join('');
    },
  };
}

function workflowTask(deps: CronDeps, run: StartedRun, control: RunControl, deadline: number): Task {
  const { row, spec } = run;
  const ctx = runContext(deps, run, control.signal);
  const runner = new WorkflowRunner(
    {
      spec,
      runId: row.run_id,
      trigger: row.trigger,
      scheduledAt: row.scheduled_at,
      key: row.idempotency_key,
      deadline,
      ctx,
      types: deps.types,
      now: () => deps.clock.now(),
      earlier: row.execution_json === null ? undefined : (JSON.parse(row.execution_json) as WorkflowExecution),
      progress: (execution, effect) => control.progress({ effect, execution }),
      nodeChanged: (node) =>
        deps.events.publish({ type: 'node', job_id: row.job_id, run_id: row.run_id, node: shownNode(node) }),
      deliver: (key) => ({
        runText: (text) => deliverText(deps, text, { spec, ctx, key, deadline }),
        runTurn: (request) => runTurn(deps, request, { spec, ctx, key, deadline }),
      }),
    },
    spec.workflow ?? { version: '', nodes: [], edges: [] },
  );
  return {
    async work() {
      await runner.execute();
      return undefined;
    },
    record: (error) => runner.record(error),
    failure: (cause) => runner.failure(cause),
  };
}

/** Waits for work, and after an abort only for a grace time. @returns its error, or its result */
async function settle<T>(work: Promise<T>, signal: AbortSignal): Promise<readonly [unknown, T | undefined]> {
  const ended = work.then(
    (value) => [undefined, value] as const,
    (error: unknown) => [error ?? new Error('unknown'), undefined] as const,
  );
  const over = new AbortController();
  const overdue = new Promise<readonly [unknown, undefined]>((resolve) => {
    const wait = (): void => {
      sleep(graceMs, undefined, { signal: over.signal }).then(
        () => resolve([signal.reason, undefined]),
        () => undefined,
      );
    };
    if (signal.aborted) wait();
    else signal.addEventListener('abort', wait, { once: true });
  });
  try {
    return await Promise.race([ended, overdue]);
  } finally {
    over.abort();
  }
}
