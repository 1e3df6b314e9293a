import { eventText, followEvents, type HostEvents, type Route, type StartHost } from 'mortise/sdk';

const eventTypes = ['plugin-state', 'alert', 'audit'] as const satisfies readonly (keyof HostEvents)[];

/** Streams state changes, alerts and audit rows as server-sent events. */
export function eventsRoute(host: StartHost): Route {
  return {
    handle: (_request, { signal }) => ({
      sse: true,
      stream: followEvents<string>(
        host,
        signal,
        (push) => [
          ...eventTypes.map((type) => host.on(type, (event) => push(eventText(type, event)))),
          host.on('shutdown', () => push(eventText('shutdown', {}))),
        ],
        (text) => text,
      ),
    }),
  };
}
