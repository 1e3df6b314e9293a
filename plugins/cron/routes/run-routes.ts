import { pageOf, type Route, readCursor, readLimit } from 'mortise/sdk';
import type { CronRunStatus } from '../contract/index.js';
import { cronError } from '../errors.js';
import type { CronOperations } from '../operations.js';

const statuses: readonly CronRunStatus[] = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'interrupted'];

/** `GET /cron/jobs/{job_id}/runs`: newest first. */
export function listRunsRoute(operations: CronOperations): Route {
  return {
    async handle({ params, query }, ctx) {
      const status = query.get('status') ?? undefined;
      if (status !== undefined && !statuses.some((known) => known === status)) {
        throw cronError('invalid_request', { message: `status must be one of: ${statuses.join(', ')}` });
      }
      const limit = readLimit(query.get('limit'), 50);
      const after = readCursor(query.get('cursor'), 'string', 'string');
      const page = { limit: limit + 1, after };
      const runs = await operations.runs(ctx.principal, params.job_id ?? '', page, status);
      return { body: pageOf(runs, limit, ({ position }) => position, ctx).map(({ run }) => run) };
    },
  };
}

/** `GET /cron/jobs/{job_id}/slots`: by time. */
export function listSlotsRoute(operations: CronOperations): Route {
  return {
    async handle({ params, query }, ctx) {
      const limit = readLimit(query.get('limit'), 200);
      const after = readCursor(query.get('cursor'), 'string');
      const range = { from: query.get('from') ?? undefined, to: query.get('to') ?? undefined };
      const page = { limit: limit + 1, after: after?.[0] };
      const slots = await operations.slots(ctx.principal, params.job_id ?? '', page, range);
      return { body: pageOf(slots, limit, ({ scheduled_at }) => [scheduled_at], ctx) };
    },
  };
}

export function readRunRoute(operations: CronOperations): Route {
  return {
    handle: async ({ params }, { principal }) => ({ body: await operations.readRun(principal, params.run_id ?? '') }),
  };
}

export function cancelRunRoute(operations: CronOperations): Route {
  return {
    handle: async ({ params }, { principal }) => ({
      body: { cancelled: await operations.cancel(principal, params.run_id ?? '') },
    }),
  };
}
