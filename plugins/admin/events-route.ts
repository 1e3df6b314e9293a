import type { HostEvents, Route, StartHost } from 'mortise/sdk';

const eventTypes = ['plugin-state', 'alert', 'audit'] as const satisfies readonly (keyof HostEvents)[];

/** Maximum events queued for a slow reader; beyond it the oldest are dropped. */
const maxQueued = 1_000;

/** Streams state changes, alerts and audit rows as server-sent events. */
export function eventsRoute(host: StartHost): Route {
  return {
    handle: (_request, ctx) => ({ sse: true, stream: follow(host, ctx.signal) }),
  };
}

async function* follow(host: StartHost, gone: AbortSignal): AsyncGenerator<string> {
  const waiting: string[] = [];
  let lost = 0;
  let wake: () => void = () => undefined;
  let ending = false;
  const push = (type: string, data: unknown): void => {
    if (waiting.length >= maxQueued) {
      waiting.shift();
      lost += 1;
    }
    waiting.push(`event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
    wake();
  };
  const onGone = (): void => wake();
  const end = (): void => {
    ending = true;
    wake();
  };
  const listeners = [
    ...eventTypes.map((type) => host.on(type, (event) => push(type, event))),
    host.on('shutdown', () => {
      push('shutdown', {});
      end();
    }),
    // The plugin waits for its streams before it stops, and this one would never end.
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
      if (next !== undefined) {
        yield next;
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
