import type { CallContext, TransactionOption } from 'mortise/sdk';
import type { CronJobSpec, CronRun } from './job.js';
import type { NodeExecution } from './workflow.js';

export * from './job.js';
export * from './workflow.js';

/** An event of a run: the run or a node of its workflow changed. */
export type CronEvent =
  | { readonly type: 'run'; readonly run: CronRun }
  | { readonly type: 'node'; readonly job_id: string; readonly run_id: string; readonly node: NodeExecution };

/** A job in the form of an export. */
export type ExportedCronJob = CronJobSpec & { readonly paused: boolean };

/** The service `cron`. */
export interface CronService {
  /**
   * Creates a job or replaces the one with its id, for the caller; the body of `POST /cron/jobs`.
   * @throws MortiseError as that route does
   */
  save(body: unknown, ctx: Pick<CallContext, 'principal'>): Promise<CronJobSpec>;
  /** The jobs that the caller may see, by name and id; secrets among the parameters of nodes are masked unless revealed. */
  export(ctx: Pick<CallContext, 'principal'>, isRevealed: boolean): Promise<readonly ExportedCronJob[]>;
  /**
   * Checks jobs of an export.
   * @throws MortiseError as {@link save}, with `details.job_id`
   */
  parse(jobs: readonly unknown[], ctx: Pick<CallContext, 'principal'>): Promise<readonly ExportedCronJob[]>;
  /**
   * Replaces the jobs that the caller may see, in the caller's transaction if there is one. The default job stays where it
   * is not among the new ones. A job that is new belongs to the caller. A mask without a stored secret stands for an empty text.
   * @param jobs from {@link parse}
   */
  replaceAll(
    jobs: readonly ExportedCronJob[],
    ctx: Pick<CallContext, 'principal'>,
    options?: TransactionOption,
  ): Promise<void>;
}

declare module 'mortise/sdk' {
  interface Services {
    cron: CronService;
  }
  interface HostEvents {
    /** A run or a node of a run changed in this process. */
    'cron-event': CronEvent;
  }
}
