import {
  type CallContext,
  type CronTurnRequest,
  isCodedError,
  isJsonObject,
  type JsonObject,
  lockTable,
  MortiseError,
  type Principal,
  readTime,
  type TransactionOption,
} from 'mortise/sdk';
import { checkTarget, maySee } from './access.js';
import type { CronJobSpec, CronRun, CronSchedule, CronSlot, ExportedCronJob } from './contract/index.js';
import type { CronDeps } from './cron-deps.js';
import { checkTurn } from './deliver-text.js';
import { cronError } from './errors.js';
import { maskedJob, unmaskedJob } from './job-secrets.js';
import { defaultJobId, readJobSpec, readScheduleBody } from './read-job-spec.js';
import { readFlag, readInteger, readText } from './read-members.js';
import { nextSlots, readSchedule, slotsOf } from './schedule/schedule.js';
import type { Scheduler } from './scheduler.js';
import { type JobPosition, listJobs, readJob } from './store/read-jobs.js';
import { type ListedRun, listRuns, listSlots, type RunPosition, readRun } from './store/read-runs.js';
import type { Job } from './store/rows.js';
import { deleteJob, saveJob, setPaused } from './store/write-jobs.js';
import { slotText } from './times.js';
import { checkNamed, validateWorkflow } from './workflow/validate-workflow.js';

interface Page<Position> {
  readonly limit: number;
  readonly after: Position | undefined;
}

/** The operations on jobs, shared by HTTP and the command line. */
export class CronOperations {
  readonly #deps: CronDeps;
  readonly #scheduler: Scheduler;

  constructor(deps: CronDeps, scheduler: Scheduler) {
    this.#deps = deps;
    this.#scheduler = scheduler;
  }

  /** The jobs that a principal may see, by name and id, with masked secrets; all of them without a page. */
  async list(principal: Principal, page?: Page<JobPosition>): Promise<readonly Job[]> {
    return (await this.#list(principal, page)).map((job) => ({ ...job, spec: maskedJob(job.spec) }));
  }

  #list(principal: Principal, page?: Page<JobPosition>): Promise<readonly Job[]> {
    const bound = maySee(principal, '') ? undefined : (principal.actor ?? principal.id);
    return listJobs(this.#deps.database, { userId: bound, limit: page?.limit, after: page?.after });
  }

  /** The job with masked secrets. @throws MortiseError `not_found`, also for a job of another user */
  async get(principal: Principal, jobId: string): Promise<Job> {
    const job = await readJob(this.#deps.database, jobId);
    if (!job || !maySee(principal, job.spec.dispatch.target.user_id)) throw unknownJob(jobId);
    return { ...job, spec: maskedJob(job.spec) };
  }

  /** Creates a job or replaces the one of the same id. @throws as `readJobSpec`, `unmaskedJob`, `actor_mismatch` */
  async save(principal: Principal, body: unknown): Promise<CronJobSpec> {
    const spec = await this.#read(principal, body);
    const saved = await saveJob(this.#deps, spec, {
      principal,
      complete: (given, stored) => completed(principal, given, stored),
    });
    return maskedJob(saved);
  }

  /** Every job that a principal may see, with whether it is paused. */
  async export(principal: Principal, isRevealed: boolean): Promise<readonly ExportedCronJob[]> {
    const jobs = isRevealed ? await this.#list(principal) : await this.list(principal);
    return jobs.map(({ spec, paused }) => ({ ...spec, paused }));
  }

  /** Checks jobs of an export. @throws as {@link save}, with `details.job_id` */
  async parse(principal: Principal, jobs: readonly unknown[]): Promise<readonly ExportedCronJob[]> {
    const parsed = new Map<string, ExportedCronJob>();
    for (const job of jobs) {
      const id = isJsonObject(job) && typeof job.id === 'string' ? job.id.trim() : '';
      try {
        if (parsed.has(id)) throw cronError('invalid_request', { message: 'the id is given twice' });
        const paused = isJsonObject(job) && readFlag(job, 'paused');
        parsed.set(id, { ...(await this.#read(principal, job)), paused });
      } catch (error) {
        if (!isCodedError(error)) throw error;
        const { code, message, status = 400, details, hint } = error as MortiseError;
        throw new MortiseError(code, `job "${id}": ${message}`, {
          status,
          details: { ...details, job_id: id },
          ...(hint === undefined ? {} : { hint }),
        });
      }
    }
    return [...parsed.values()];
  }

  /** Replaces the jobs that a principal may see; the default job stays where it is not among the new ones. */
  async replaceAll(principal: Principal, jobs: readonly ExportedCronJob[], options?: TransactionOption): Promise<void> {
    const { database } = this.#deps;
    const bound = maySee(principal, '') ? undefined : (principal.actor ?? principal.id);
    const kept = new Set([defaultJobId, ...jobs.map(({ id }) => id)]);
    await database.transaction(async (trx) => {
      // Serializes concurrent replacements, so that their jobs are not mixed.
      await lockTable(database, 'cron.jobs', trx);
      const stored = await listJobs(database, { userId: bound }, { trx });
      const ended: string[] = [];
      for (const { id } of stored) {
        if (!kept.has(id)) ended.push(...((await deleteJob(this.#deps, id, { trx })) ?? []));
      }
      for (const { paused, ...spec } of jobs) {
        await saveJob(this.#deps, spec, {
          principal,
          trx,
          complete: (given, job) => completed(principal, given, job, 'empty'),
        });
        await setPaused(this.#deps, spec.id, paused, { trx });
      }
      database.afterCommit(trx, () => {
        for (const runId of ended) {
          this.#scheduler
            .abort(runId, 'job deleted')
            .catch((error: unknown) => this.#deps.log.warn({ err: error, runId }, 'A run of a deleted job goes on'));
        }
      });
    }, options);
  }

  /** Replaces a job. @throws MortiseError `job_id_mismatch`, `not_found`, and as {@link save} */
  async replace(principal: Principal, jobId: string, body: unknown): Promise<CronJobSpec> {
    if (!isJsonObject(body)) throw cronError('invalid_json');
    if (readText(body, 'id').trim() !== jobId) throw cronError('job_id_mismatch');
    const spec = await this.#read(principal, body);
    const saved = await saveJob(this.#deps, spec, {
      principal,
      complete: (given, stored) => {
        if (!stored || !maySee(principal, stored.spec.dispatch.target.user_id)) throw unknownJob(jobId);
        return unmaskedJob(given, stored.spec);
      },
    });
    return maskedJob(saved);
  }

  /** @returns false for an unknown job @throws MortiseError `default_cron_protected` */
  async delete(principal: Principal, jobId: string): Promise<boolean> {
    if (jobId === defaultJobId) throw cronError('default_cron_protected', { details: { job_id: jobId } });
    const job = await readJob(this.#deps.database, jobId);
    if (!job || !maySee(principal, job.spec.dispatch.target.user_id)) return false;
    const running = await deleteJob(this.#deps, jobId);
    for (const runId of running ?? []) await this.#scheduler.abort(runId, 'job deleted');
    return running !== undefined;
  }

  /** @throws MortiseError `not_found` */
  async setPaused(principal: Principal, jobId: string, paused: boolean): Promise<void> {
    await this.get(principal, jobId);
    if (!(await setPaused(this.#deps, jobId, paused))) throw unknownJob(jobId);
  }

  /** Runs a job now. @returns the run's id @throws MortiseError `not_found`, `cron_busy`, `cron_run_failed` */
  async run(principal: Principal, jobId: string, { wait }: { readonly wait: boolean }): Promise<string> {
    await this.get(principal, jobId);
    const runId = await this.#scheduler.queue(jobId);
    if (wait) await this.#scheduler.wait(runId);
    return runId;
  }

  /** Runs of a job, newest first. @throws MortiseError `not_found` */
  async runs(
    principal: Principal,
    jobId: string,
    { limit, after }: Page<RunPosition>,
    status?: string,
  ): Promise<readonly ListedRun[]> {
    await this.get(principal, jobId);
    return listRuns(this.#deps.database, { jobId, status, limit, before: after });
  }

  /** Rows of a job's ledger by time. @param from RFC 3339 @throws MortiseError `not_found`, `invalid_request` */
  async slots(
    principal: Principal,
    jobId: string,
    { limit, after }: Page<string>,
    { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  ): Promise<readonly CronSlot[]> {
    await this.get(principal, jobId);
    return listSlots(this.#deps.database, {
      jobId,
      from: from === undefined ? undefined : readInstant('from', from),
      to: to === undefined ? undefined : readInstant('to', to),
      limit,
      after,
    });
  }

  /** @throws MortiseError `not_found` */
  async readRun(principal: Principal, runId: string): Promise<CronRun> {
    const found = await readRun(this.#deps.database, runId);
    if (!found || !(await this.#maySeeRun(principal, found.run))) {
      throw cronError('not_found', { message: 'cron run not found', details: { run_id: runId } });
    }
    return found.run;
  }

  /** @returns false when the run has ended @throws MortiseError `not_found` */
  async cancel(principal: Principal, runId: string): Promise<boolean> {
    await this.readRun(principal, runId);
    return this.#scheduler.cancel(runId);
  }

  /** The coming slots of a schedule. @throws as `readJobSpec` */
  preview(body: unknown): { readonly next: readonly string[]; readonly schedule: CronSchedule } {
    if (!isJsonObject(body)) throw cronError('invalid_json');
    const now = this.#deps.clock.now();
    const schedule = readScheduleBody(body, now);
    const from = readText(body, 'from');
    const start = from === '' ? now : Date.parse(readInstant('from', from));
    if (start < 0) throw cronError('invalid_request', { message: 'from must be a time from 1970 on' });
    return { next: comingSlots(schedule, start, readCount(body)), schedule };
  }

  /** The coming slots of a job: those of its epoch, or those that it would have if it were enabled now. */
  upcoming({ spec, epochFrom }: Job, count: number): readonly string[] {
    return comingSlots(spec.schedule, this.#deps.clock.now(), count, epochFrom ?? undefined);
  }

  async #read(principal: Principal, body: unknown): Promise<CronJobSpec> {
    const spec = readJobSpec(body, this.#deps.clock.now());
    checkTarget(principal, spec);
    if (!spec.workflow) return spec;
    const { types } = this.#deps;
    const workflow = await validateWorkflow(spec.workflow, types);
    const check = (request: CronTurnRequest, ctx: CallContext) => checkTurn(this.#deps, request, spec, ctx);
    await checkNamed(workflow, types, check, { principal });
    return { ...spec, workflow };
  }

  /** Runs of a deleted job belong to its administrators. */
  async #maySeeRun(principal: Principal, { job_id }: CronRun): Promise<boolean> {
    if (maySee(principal, '')) return true;
    const job = await readJob(this.#deps.database, job_id);
    return job !== undefined && maySee(principal, job.spec.dispatch.target.user_id);
  }
}

/** The job to store, with the secrets of the stored one. @throws MortiseError `actor_mismatch`, and as `unmaskedJob` */
function completed(
  principal: Principal,
  given: CronJobSpec,
  stored: Job | undefined,
  otherMasks?: 'empty',
): CronJobSpec {
  if (stored && !maySee(principal, stored.spec.dispatch.target.user_id)) throw cronError('actor_mismatch');
  return unmaskedJob(given, stored?.spec, otherMasks);
}

function unknownJob(jobId: string) {
  return cronError('not_found', { details: { job_id: jobId } });
}

function readInstant(member: string, text: string): string {
  const time = readTime(text);
  if (time === undefined) {
    throw cronError('invalid_request', {
      message: `${member} must be a time in ISO 8601`,
      hint: 'For example 2026-11-20T10:00:00Z.',
    });
  }
  return slotText(Date.parse(time));
}

const defaultCount = 5;
const maxCount = 100;

function readCount(body: JsonObject): number {
  if (body.count === undefined || body.count === null) return defaultCount;
  const count = readInteger(body, 'count');
  if (count < 1 || count > maxCount) {
    throw cronError('invalid_request', { message: `count must be an integer from 1 to ${maxCount}` });
  }
  return count;
}

/** Slots after an instant; fewer when the schedule has no more. */
function comingSlots(
  schedule: CronSchedule,
  after: number,
  count: number,
  from = wholeSecond(after),
): readonly string[] {
  return nextSlots(slotsOf(readSchedule(schedule), from), after, count).map(slotText);
}

function wholeSecond(at: number): number {
  return Math.floor(at / 1_000) * 1_000;
}
