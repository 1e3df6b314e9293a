import type { JsonObject } from 'mortise/sdk';
import type { CronRun } from './contract/index.js';
import type { CronDeps } from './cron-deps.js';
import { Dispatcher } from './dispatcher.js';
import { cronError } from './errors.js';
import { slotKey } from './idempotency-key.js';
import { effectiveRuntime } from './read-job-spec.js';
import { recoverRuns } from './recover-runs.js';
import { claimDueSlots, hasDueSlots } from './store/claim-slots.js';
import { queueRun } from './store/finish-runs.js';
import { readJob } from './store/read-jobs.js';
import { readRun } from './store/read-runs.js';
import { newRunId } from './store/rows.js';
import { timeText } from './times.js';

/** How often a caller that waits for a run polls its row, milliseconds; events usually arrive first. */
const pollMs = 500;
/** How often runs that wait for a lease retry, milliseconds: lease files expire without an event. */
const lookAgainMs = 5_000;
/** A queued run without an executing process is cancelled this long after its own limit, milliseconds. */
const patienceMs = 5_000;

const wakeChannel = 'wake';
const cancelChannel = 'cancel';

/** The scheduler of this process. One that does not execute still queues manual runs and cancels. */
export class Scheduler {
  readonly #deps: CronDeps;
  readonly #dispatcher: Dispatcher;
  readonly #executes: boolean;
  readonly #stopping = new AbortController();
  #lookedAgain = Number.NEGATIVE_INFINITY;
  #lastTick = Number.NEGATIVE_INFINITY;
  #ticking: Promise<void> | undefined;

  constructor(deps: CronDeps, { executes }: { readonly executes: boolean }) {
    this.#deps = deps;
    this.#executes = executes;
    this.#dispatcher = new Dispatcher(deps);
  }

  /** Runs of this process. */
  get running(): number {
    return this.#dispatcher.size;
  }

  /** Starts to listen to the other processes. */
  async listen(own: (disposable: { dispose(): void | Promise<void> }) => unknown): Promise<void> {
    const { database } = this.#deps;
    own(
      await database.listen(wakeChannel, () => {
        if (this.#executes) this.#dispatcher.request();
      }),
    );
    own(
      await database.listen(cancelChannel, (payload) => {
        const { runId, reason } = JSON.parse(payload) as { readonly runId: string; readonly reason: string };
        this.#dispatcher.cancel(runId, reason);
      }),
    );
  }

  /** Claims due slots, recovers interrupted runs and starts queued ones. Ticks that come during a tick are dropped. */
  tick(): Promise<void> {
    this.#lastTick = this.#deps.clock.monotonic();
    this.#ticking ??= this.#tick().finally(() => {
      this.#ticking = undefined;
    });
    return this.#ticking;
  }

  /** Ticks when no tick has come for some time. @param ms milliseconds */
  async tickAfterSilence(ms: number): Promise<void> {
    if (this.#deps.clock.monotonic() - this.#lastTick >= ms) await this.tick();
  }

  renewLeases(): Promise<void> {
    return this.#dispatcher.renew();
  }

  async #tick(): Promise<void> {
    const { clock, log, metrics } = this.#deps;
    if (!this.#executes || this.#stopping.signal.aborted) return;
    const from = clock.monotonic();
    try {
      if (await hasDueSlots(this.#deps)) await claimDueSlots(this.#deps, this.#stopping.signal);
      // Before anything starts: a start that runs beside it can miss both the lease of a dead run and the run that continues it.
      await recoverRuns(this.#deps, (runId) => this.#dispatcher.isRunning(runId));
      await this.#lookAgain(from);
    } catch (error) {
      log.warn({ err: error }, 'a tick failed; the next one claims what is due');
    }
    this.#dispatcher.request();
    metrics.tick((clock.monotonic() - from) / 1_000);
  }

  async #lookAgain(now: number): Promise<void> {
    if (now - this.#lookedAgain < lookAgainMs) return;
    this.#lookedAgain = now;
    await this.#deps.database.statement("update {cron.runs} set waits = ? where status = 'queued' and waits", [false]);
  }

  /** Resolves when everything that can be started now was started. */
  started(): Promise<void> {
    return this.#dispatcher.started();
  }

  /** Queues a manual run. @returns its id @throws MortiseError `not_found` */
  async queue(jobId: string): Promise<string> {
    const { database, clock } = this.#deps;
    const now = timeText(clock.now());
    const runId = newRunId();
    await database.transaction(async (trx) => {
      const { rows } = await database.statement('select 1 as found from {cron.jobs} where job_id = ?', [jobId], {
        trx,
      });
      if (rows.length === 0) throw cronError('not_found', { details: { job_id: jobId } });
      const run = {
        run_id: runId,
        job_id: jobId,
        scheduled_at: null,
        trigger: 'manual',
        attempt: 1,
        idempotency_key: slotKey(jobId, runId),
        not_before: now,
        queued_at: now,
      } as const;
      await database.batch([queueRun(run)], { trx });
    });
    if (this.#executes) this.#dispatcher.request();
    else await database.notify(wakeChannel, runId);
    return runId;
  }

  /**
   * Waits for the end of a manual run, and of the run that continues it when it is interrupted.
   * @throws MortiseError `cron_busy`, `cron_run_failed`
   */
  async wait(runId: string): Promise<void> {
    const { database, clock } = this.#deps;
    const first = await readRun(database, runId);
    const job = first && (await readJob(database, first.run.job_id));
    const timeoutMs = job ? effectiveRuntime(job.spec.runtime).timeoutSeconds * 1_000 : 0;
    const patience = clock.monotonic() + timeoutMs + patienceMs;
    for (;;) {
      const run = (await readRun(database, runId))?.run;
      if (!run) throw cronError('cron_run_failed', { message: 'the run is gone', details: { run_id: runId } });
      if (run.recovered_as !== undefined) return this.wait(run.recovered_as);
      if (run.status !== 'queued' && run.status !== 'running') return outcomeOf(run);
      if (run.status === 'queued' && !this.#executes && clock.monotonic() >= patience) {
        await this.cancel(runId, 'no executing replica');
        throw cronError('cron_run_failed', { message: 'no executing replica', details: { run_id: runId } });
      }
      await this.#change(runId);
    }
  }

  /** Resolves when the run changes, or after a while. */
  #change(runId: string): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, pollMs);
      const subscription = this.#deps.events.subscribe((event) => {
        if (event.type === 'run' && event.run.run_id === runId) done();
      });
      function done(): void {
        clearTimeout(timer);
        void subscription.dispose();
        resolve();
      }
    });
  }

  /** Cancels a queued or running run. @returns false when it has ended */
  async cancel(runId: string, reason = 'run cancelled'): Promise<boolean> {
    const { database, clock } = this.#deps;
    const now = timeText(clock.now());
    const changed = await database.transaction(async (trx) => {
      const { rows } = await database.statement<{ job_id: string; scheduled_at: string | null }>(
        `update {cron.runs} set status = 'cancelled', error = ?, finished_at = ?, cancel_reason = ?
         where run_id = ? and status = 'queued' returning job_id, scheduled_at`,
        [reason, now, reason, runId],
        { trx },
      );
      const [queued] = rows;
      if (queued?.scheduled_at) {
        await database.statement(
          "update {cron.slots} set outcome = 'failed', reason = 'cancelled' where job_id = ? and scheduled_at = ?",
          [queued.job_id, queued.scheduled_at],
          { trx },
        );
      }
      if (queued) return true;
      const { changes } = await database.statement(
        "update {cron.runs} set cancel_reason = ? where run_id = ? and status = 'running'",
        [reason, runId],
        { trx },
      );
      return changes === 1;
    });
    if (changed) await this.abort(runId, reason);
    return changed;
  }

  /** Aborts a run wherever it is executed. */
  async abort(runId: string, reason: string): Promise<void> {
    if (this.#dispatcher.cancel(runId, reason)) return;
    const payload: JsonObject = { runId, reason };
    await this.#deps.database.notify(cancelChannel, JSON.stringify(payload));
  }

  /** @param withinMs milliseconds for runs to end; what remains is aborted */
  async stop(withinMs: number): Promise<void> {
    this.#stopping.abort();
    await this.#ticking;
    await this.#dispatcher.stop(withinMs);
  }
}

function outcomeOf({ run_id, status, error }: CronRun): void {
  if (status === 'succeeded') return;
  if (error?.startsWith('max_concurrency limit reached')) throw cronError('cron_busy', { details: { run_id } });
  throw cronError('cron_run_failed', { message: error ?? `the run was ${status}`, details: { run_id } });
}
