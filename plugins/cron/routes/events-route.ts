import { eventText, followEvents, type Principal, type Route, type StartHost } from 'mortise/sdk';
import type { CronEvent } from '../contract/index.js';
import type { CronOperations } from '../operations.js';
import type { RunEvents } from '../run-events.js';

interface Watched {
  readonly events: RunEvents;
  readonly operations: CronOperations;
  readonly host: Pick<StartHost, 'on' | 'key'>;
}

/** `GET /cron/events`: what runs and nodes do, as server-sent events; `?job_id=` for those of one job. */
export function eventsRoute(watched: Watched): Route {
  return {
    async handle({ query }, ctx) {
      const jobId = query.get('job_id') ?? undefined;
      if (jobId !== undefined) await watched.operations.get(ctx.principal, jobId);
      const accepts =
        jobId === undefined ? ownJobs(watched.operations, ctx.principal) : async (id: string) => id === jobId;
      const { host, events } = watched;
      const stream = followEvents<CronEvent>(
        host,
        ctx.signal,
        (push) => [events.subscribe(push)],
        async (event) => {
          const isSeen = await accepts(event.type === 'run' ? event.run.job_id : event.job_id);
          return isSeen ? eventText(event.type, event) : undefined;
        },
      );
      return { sse: true, stream };
    },
  };
}

/** Whether a principal may see a job; asked once per job and stream. */
function ownJobs(operations: CronOperations, principal: Principal): (jobId: string) => Promise<boolean> {
  const known = new Map<string, Promise<boolean>>();
  return (jobId) => {
    const answer =
      known.get(jobId) ??
      operations.get(principal, jobId).then(
        () => true,
        () => false,
      );
    known.set(jobId, answer);
    return answer;
  };
}
