import type { Principal, Route, StartHost } from 'mortise/sdk';
import type { CronEvent } from '../contract/index.js';
import type { CronOperations } from '../operations.js';
import type { RunEvents } from '../run-events.js';

/** Maximum events queued for a slow reader; beyond it the oldest are dropped. */
const maxQueued = 1_000;

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
      return { sse: true, stream: follow(watched, accepts, ctx.signal) };
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

async function* follow(
  { events, host }: Watched,
  accepts: (jobId: string) => Promise<boolean>,
  gone: AbortSignal,
): AsyncGenerator<string> {
  const waiting: CronEvent[] = [];
  let lost = 0;
  let ending = false;
  let wake: () => void = () => undefined;
  const end = (): void => {
    ending = true;
    wake();
  };
  const onGone = (): void => wake();
  const listeners = [
    events.subscribe((event) => {
      if (waiting.length >= maxQueued) {
        waiting.shift();
        lost += 1;
      }
      waiting.push(event);
      wake();
    }),
    host.on('shutdown', end),
    // The plugin waits for its streams before it stops.
    host.on('plugin-state', ({ key, to }) => {
      if (key === host.key && to === 'draining') end();
    }),
  ];
  gone.addEventListener('abort', onGone, { once: true });
  try {
    yield ': open\n\n';
    while (!gone.aborted) {
      if (lost > 0) {
        yield `event: lost\ndata: ${JSON.stringify({ count: lost })}\n\n`;
        lost = 0;
      }
      const next = waiting.shift();
      if (next) {
        const jobId = next.type === 'run' ? next.run.job_id : next.job_id;
        if (await accepts(jobId)) yield `event: ${next.type}\ndata: ${JSON.stringify(next)}\n\n`;
        continue;
      }
      if (ending) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (waiting.length > 0 || gone.aborted || ending) resolve();
      });
    }
  } finally {
    gone.removeEventListener('abort', onGone);
    for (const listener of listeners) await listener.dispose();
  }
}
