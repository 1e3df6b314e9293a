import { errorTable, MortiseError } from 'mortise/sdk';

export const { error: cronError } = errorTable({
  invalid_json: [400, 'invalid request body'],
  invalid_request: [400, 'invalid request'],
  invalid_cron_task_type: [400, 'invalid task'],
  invalid_cron_workflow: [400, 'invalid workflow'],
  invalid_cron_schedule: [400, 'invalid schedule'],
  job_id_mismatch: [400, 'job_id mismatch'],
  default_cron_protected: [400, 'default cron job cannot be deleted'],
  actor_mismatch: [403, 'user_id is not the user this key belongs to'],
  not_found: [404, 'cron job not found'],
  cron_busy: [409, 'cron job reached max_concurrency'],
  cron_run_failed: [500, 'the run failed'],
});

export type CronErrorCode = Parameters<typeof cronError>[0];

/** The sentence of an error for a run's record: of a coded error its message, never the text of an unexpected one. */
export function causeOf(error: unknown): string {
  if (error instanceof MortiseError) return error.message;
  if (typeof error === 'object' && error !== null && 'code' in error && 'message' in error) {
    const { code, message } = error;
    // Errors of Node carry a code too; their messages name hosts and paths.
    if (typeof code === 'string' && typeof message === 'string' && !(error instanceof Error)) return message;
  }
  return 'an unexpected error occurred';
}
