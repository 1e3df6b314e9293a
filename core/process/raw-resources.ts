import { syncBuiltinESMExports } from 'node:module';
import { Server } from 'node:net';
import timers from 'node:timers';
import { currentPlugin } from '../kernel/attribution.js';

/** Intervals and servers that plugins made without the host. What has ended is forgotten now and then. */
const resources = new Map<string, WeakRef<object>[]>();
/** Recorded resources of one plugin between two looks at which of them have ended. */
const forgetEvery = 256;
let watching = false;

/** Begins to record raw intervals, also those of `node:timers`, and listening servers that plugins make. */
export function watchRawResources(): void {
  if (watching) return;
  watching = true;
  const start = timers.setInterval;
  timers.setInterval = Object.assign(
    (...args: Parameters<typeof start>) => note(start(...args)),
    start,
  ) as typeof start;
  globalThis.setInterval = timers.setInterval;
  syncBuiltinESMExports();
  const listen = Server.prototype.listen;
  Server.prototype.listen = function (this: Server, ...args: unknown[]) {
    return Reflect.apply(listen, note(this), args) as Server;
  } as typeof Server.prototype.listen;
}

/** What a plugin made without the host and did not end. */
export function rawResources(plugin: string): readonly string[] {
  return open(plugin).map((one) => (one instanceof Server ? 'a listening server' : 'an interval timer'));
}

/** The plugin that listens on a port of its own. */
export function listenerOn(port: number): string | undefined {
  const listens = (one: object): boolean => {
    const address = one instanceof Server ? one.address() : null;
    return typeof address === 'object' && address?.port === port;
  };
  return [...resources.keys()].find((plugin) => open(plugin).some(listens));
}

function note<T extends object>(resource: T): T {
  const plugin = currentPlugin();
  if (plugin === undefined) return resource;
  const own = resources.get(plugin) ?? [];
  own.push(new WeakRef(resource));
  resources.set(plugin, own);
  if (own.length % forgetEvery === 0)
    resources.set(
      plugin,
      open(plugin).map((one) => new WeakRef(one)),
    );
  return resource;
}

/** Node keeps what is active. A timer has no public flag for that, whichever way it was ended. */
function open(plugin: string): readonly object[] {
  const found = (resources.get(plugin) ?? []).flatMap((one) => one.deref() ?? []);
  const isOpen = (one: object): boolean =>
    one instanceof Server ? one.listening : (one as { _destroyed?: boolean })._destroyed !== true;
  return [...new Set(found.filter(isOpen))];
}
