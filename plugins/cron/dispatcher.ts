import { AsyncLocalStorage } from 'node:async_hooks';
import { createDrain, type Drain, type GroupCommit, retryCommit } from 'mortise/sdk';
import type { CronDeps } from './cron-deps.js';
import { executeRun } from './execute-run.js';
import { effectiveRuntime } from './read-job-spec.js';
import { abortOf, RunAborted } from './run-aborted.js';
import { type Finished, type FinishedRun, finishing, type RunEnd } from './store/finish-runs.js';
import { expireLeases, type Progress, progressing, renewLeases } from './store/hold-runs.js';
import { readRun } from './store/read-runs.js';
import { type RunRow, runOf } from './store/rows.js';
import { type StartedRun, startRuns } from './store/start-runs.js';
import { timeText } from './times.js';

/** Runs started in one transaction. */
const batchSize = 128;
/** Part of the shutdown time that is reserved for aborted runs to end, milliseconds. */
const abortMs = 2_500;

interface LiveRun {
  readonly run: StartedRun;
  readonly controller: AbortController;
  /** Monotonic milliseconds until which the lease is held, regardless of the database. */
  leasedUntil: number;
  done: Promise<void>;
}

/** The runs of this process: starts queued ones while there is room, holds their leases, and records their ends. */
export class Dispatcher {
  readonly #deps: CronDeps;
  readonly #live = new Map<string, LiveRun>();
  readonly #finish: GroupCommit<FinishedRun, Finished>;
  readonly #step: GroupCommit<Progress, boolean>;
  readonly #starting: Drain;
  /** Runs outlive the tick or request that queued them. */
  readonly #detached = AsyncLocalStorage.snapshot();
  #isStopped = false;

  constructor(deps: CronDeps) {
    this.#deps = deps;
    this.#finish = finishing(deps);
    this.#step = progressing(deps);
    this.#starting = createDrain(
      () => this.#start(),
      (error) => deps.log.warn({ err: error }, 'queued runs could not be started; the next tick tries again'),
    );
  }

  get size(): number {
    return this.#live.size;
  }

  isRunning(runId: string): boolean {
    return this.#live.has(runId);
  }

  /** Schedules a start of queued runs. */
  request(): void {
    if (!this.#isStopped) this.#detached(() => this.#starting.request());
  }

  /** Resolves when nothing more can be started now. */
  async started(): Promise<void> {
    await this.#starting.idle();
  }

  /** Aborts a run of this process. False when it is not one. */
  cancel(runId: string, reason: string): boolean {
    const live = this.#live.get(runId);
    live?.controller.abort(new RunAborted('cancelled', reason));
    return live !== undefined;
  }

  /** Renews the leases of all runs, and aborts those that are lost or were cancelled elsewhere. */
  async renew(): Promise<void> {
    this.#abortExpired();
    const held = [...this.#live.values()].filter(({ controller }) => abortOf(controller.signal)?.kind !== 'lost');
    if (held.length === 0) return;
    const from = this.#deps.clock.monotonic();
    const renewed = await renewLeases(
      this.#deps,
      held.map(({ run }) => run.leaseId),
    );
    const reasons = new Map(renewed.map(({ runId, cancelReason }) => [runId, cancelReason]));
    for (const live of held) {
      const { run_id: id } = live.run.row;
      const reason = reasons.get(id);
      if (reason === undefined) this.#lose(live);
      else if (reason !== null) this.cancel(id, reason);
      else live.leasedUntil = from + this.#deps.leaseMs;
    }
  }

  /**
   * Starts no more runs and waits for running ones. Those that remain are aborted; their leases expire immediately, so that
   * the next process recovers them.
   *
   * @param withinMs milliseconds for all of it
   */
  async stop(withinMs: number): Promise<void> {
    this.#isStopped = true;
    await this.#starting.idle();
    await this.#idle(Math.max(0, withinMs - abortMs));
    const left = [...this.#live.values()];
    if (left.length === 0) return;
    for (const { controller } of left) {
      controller.abort(new RunAborted('stopping', 'the process is shutting down'));
    }
    await this.#idle(Math.min(abortMs, Math.max(0, withinMs)));
    await expireLeases(
      this.#deps,
      left.map(({ run }) => run.leaseId),
    ).catch((error: unknown) => this.#deps.log.warn({ err: error }, 'leases are left to expire'));
  }

  async #idle(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([Promise.all([...this.#live.values()].map(({ done }) => done)), limit]);
    clearTimeout(timer);
  }

  async #start(): Promise<void> {
    for (;;) {
      const room = Math.min(this.#deps.maxRuns - this.#live.size, batchSize);
      if (room <= 0 || this.#isStopped) return;
      const { started, busy, seen } = await startRuns(this.#deps, room);
      for (const row of busy) this.#reject(row);
      for (const run of started) this.#launch(run);
      if (seen < room) return;
    }
  }

  #launch(run: StartedRun): void {
    const live: LiveRun = {
      run,
      controller: new AbortController(),
      leasedUntil: run.leasedUntil,
      done: Promise.resolve(),
    };
    this.#live.set(run.row.run_id, live);
    const { row } = run;
    const late = row.scheduled_at === null ? 0 : (this.#deps.clock.now() - Date.parse(row.scheduled_at)) / 1_000;
    this.#deps.metrics.started(row.trigger, late);
    live.done = this.#execute(live)
      .catch((error: unknown) => {
        this.#deps.log.error({ run_id: row.run_id, err: error }, 'the end of a run could not be recorded');
      })
      .finally(() => {
        this.#live.delete(row.run_id);
        this.request();
      });
  }

  async #execute(live: LiveRun): Promise<void> {
    const { run, controller } = live;
    const { timeoutSeconds } = effectiveRuntime(run.spec.runtime);
    const from = this.#deps.clock.monotonic();
    this.#announce(run.row);
    const timer = setTimeout(() => {
      controller.abort(new RunAborted('timeout', `cron execution timeout after ${timeoutSeconds}s`));
    }, timeoutSeconds * 1_000);
    let end: RunEnd;
    try {
      end = await executeRun(this.#deps, run, {
        signal: controller.signal,
        progress: (step) => this.#progress(live, step),
      });
    } finally {
      clearTimeout(timer);
    }
    const kind = abortOf(controller.signal)?.kind;
    if (end.status !== 'succeeded' && (kind === 'lost' || kind === 'stopping')) return;
    await this.#record(run, end, (this.#deps.clock.monotonic() - from) / 1_000);
  }

  /** No work begins on a lease that may have expired. */
  async #progress(live: LiveRun, step: Omit<Progress, 'run'>): Promise<void> {
    const { signal } = live.controller;
    signal.throwIfAborted();
    this.#abortExpired();
    const isHeld = !signal.aborted && (await this.#step.submit({ run: live.run, ...step }));
    if (!isHeld && !signal.aborted) await this.#findOut(live);
    signal.throwIfAborted();
    this.#abortExpired();
    signal.throwIfAborted();
  }

  /** Why a run must not continue: it was cancelled, or taken over. */
  async #findOut(live: LiveRun): Promise<void> {
    const row = await readRun(this.#deps.database, live.run.row.run_id);
    if (row?.lease_id === live.run.leaseId && row.cancel_reason !== null) {
      live.controller.abort(new RunAborted('cancelled', row.cancel_reason));
    } else {
      this.#lose(live);
    }
  }

  async #record(run: StartedRun, end: RunEnd, seconds: number): Promise<void> {
    const { database, log, alert, metrics, alertAfterFailures } = this.#deps;
    const { recorded, failures } = await retryCommit(
      () => this.#finish.submit({ run, end }),
      (error) => database.codec.errorKind(error) !== 'other',
    );
    if (!recorded) {
      log.warn({ run_id: run.row.run_id }, 'a run was taken over; its end is not recorded');
      return;
    }
    metrics.finished(end.status, seconds);
    const isRepeated = end.status === 'failed' && run.row.attempt < effectiveRuntime(run.spec.runtime).maxAttempts;
    if (run.row.scheduled_at !== null && !isRepeated)
      metrics.slots(end.status === 'succeeded' ? 'succeeded' : 'failed', 1);
    this.#announce({
      ...run.row,
      status: end.status,
      error: end.error,
      result: end.result,
      finished_at: timeText(this.#deps.clock.now()),
    });
    if (end.status === 'failed' && isAlarming(failures, alertAfterFailures)) {
      alert({
        source: `cron:${run.row.job_id}`.slice(0, 128),
        severity: 'medium',
        code: 'cron_job_failing',
        message: `A cron job has failed ${failures} times in a row.`,
        data: { job_id: run.row.job_id, run_id: run.row.run_id, failures },
      });
    }
  }

  #reject(row: RunRow): void {
    this.#deps.metrics.slots('overlap', row.scheduled_at === null ? 0 : 1);
    this.#announce(row);
  }

  #announce(row: RunRow): void {
    this.#deps.events.publish({ type: 'run', run: runOf(row) });
  }

  #abortExpired(): void {
    const now = this.#deps.clock.monotonic();
    for (const live of this.#live.values()) if (live.leasedUntil <= now) this.#lose(live);
  }

  #lose(live: LiveRun): void {
    live.controller.abort(new RunAborted('lost', 'the run was taken over by another process'));
  }
}

/** At the limit, and whenever the number has doubled since. */
function isAlarming(failures: number, limit: number): boolean {
  if (failures < limit) return false;
  return Number.isInteger(Math.log2(failures / limit));
}
