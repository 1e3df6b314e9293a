import type { CallContext } from 'mortise/sdk';
import type { CronJobSpec, CronRun } from './job.js';
import type { NodeExecution } from './workflow.js';

export * from './job.js';
export * from './workflow.js';

/** Something that a watcher of runs sees: a run changed, or a node of its workflow did. */
export type CronEvent =
  | { readonly type: 'run'; readonly run: CronRun }
  | { readonly type: 'node'; readonly job_id: string; readonly run_id: string; readonly node: NodeExecution };

/** The service `cron`. */
export interface CronService {
  /**
   * Creates a job or replaces the one with its id, for the caller; the body of `POST /cron/jobs`.
   * @throws MortiseError as that route does
   */
  save(body: unknown, ctx: Pick<CallContext, 'principal'>): Promise<CronJobSpec>;
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
