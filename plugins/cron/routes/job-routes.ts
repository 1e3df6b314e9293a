import { pageOf, type Route, readCursor, readLimit } from 'mortise/sdk';
import type { CronOperations } from '../operations.js';

/** `GET /cron/jobs`: by name and id; pages only with `limit`. */
export function listJobsRoute(operations: CronOperations): Route {
  return {
    async handle({ query }, ctx) {
      const after = readCursor(query.get('cursor'), 'string', 'string');
      if (query.get('limit') === null && !after) {
        return { body: (await operations.list(ctx.principal)).map(({ spec }) => spec) };
      }
      const limit = readLimit(query.get('limit'));
      const jobs = await operations.list(ctx.principal, { limit: limit + 1, after });
      const page = pageOf(jobs, limit, ({ spec }) => [spec.name, spec.id], ctx);
      return { body: page.map(({ spec }) => spec) };
    },
  };
}

export function saveJobRoute(operations: CronOperations): Route {
  return { handle: async ({ body }, { principal }) => ({ body: await operations.save(principal, body) }) };
}

export function readJobRoute(operations: CronOperations): Route {
  return {
    async handle({ params }, { principal }) {
      const { spec, state } = await operations.get(principal, params.job_id ?? '');
      return { body: { spec, state } };
    },
  };
}

export function replaceJobRoute(operations: CronOperations): Route {
  return {
    handle: async ({ params, body }, { principal }) => ({
      body: await operations.replace(principal, params.job_id ?? '', body),
    }),
  };
}

export function deleteJobRoute(operations: CronOperations): Route {
  return {
    handle: async ({ params }, { principal }) => ({
      body: { deleted: await operations.delete(principal, params.job_id ?? '') },
    }),
  };
}

export function pauseRoute(operations: CronOperations, paused: boolean): Route {
  return {
    async handle({ params }, { principal }) {
      await operations.setPaused(principal, params.job_id ?? '', paused);
      return { body: paused ? { paused: true } : { resumed: true } };
    },
  };
}

/** `POST /cron/jobs/{job_id}/run`: the run belongs to the job, so a caller that leaves does not cancel it. */
export function runJobRoute(operations: CronOperations): Route {
  return {
    async handle({ params, query }, { principal }) {
      const wait = query.get('wait') !== 'false';
      const runId = await operations.run(principal, params.job_id ?? '', { wait });
      return { status: wait ? 200 : 202, body: { started: true, run_id: runId } };
    },
  };
}

export function jobStateRoute(operations: CronOperations): Route {
  return {
    handle: async ({ params }, { principal }) => ({
      body: (await operations.get(principal, params.job_id ?? '')).state,
    }),
  };
}

export function previewRoute(operations: CronOperations): Route {
  return { handle: async ({ body }) => ({ body: operations.preview(body) }) };
}
