import { syncBuiltinESMExports } from 'node:module';
import { Server } from 'node:net';
import timers from 'node:timers';
import { currentPlugin } from '../kernel/attribution.js';

/** Timers and listening servers that plugins made without the host, while they exist. The doctor reports them. */
const resources = new Map<string, Map<object, string>>();
let watching = false;

/**
 * Begins to record raw intervals and listening servers that plugins make. Intervals are recorded whether a plugin takes the
 * functions from the global scope or from `node:timers`, and forgotten whichever way they are ended.
 */
export function watchRawResources(): void {
  if (watching) return;
  watching = true;
  const { setInterval: start, clearInterval: endInterval, clearTimeout: endTimeout } = timers;
  timers.setInterval = Object.assign((...args: Parameters<typeof start>) => {
    const timer = start(...args);
    const plugin = currentPlugin();
    if (plugin !== undefined) {
      note(plugin, timer, 'an interval timer');
      forgetClosed(timer);
    }
    return timer;
  }, start) as typeof start;
  timers.clearInterval = (timer) => {
    forgetTimer(timer);
    endInterval(timer);
  };
  // It ends intervals as well.
  timers.clearTimeout = (timer) => {
    forgetTimer(timer);
    endTimeout(timer);
  };
  globalThis.setInterval = timers.setInterval;
  globalThis.clearInterval = timers.clearInterval;
  globalThis.clearTimeout = timers.clearTimeout;
  syncBuiltinESMExports();
  const listen = Server.prototype.listen;
  Server.prototype.listen = function (this: Server, ...args: unknown[]) {
    const plugin = currentPlugin();
    if (plugin !== undefined) {
      note(plugin, this, 'a listening server');
      this.once('close', () => forget(this));
    }
    return Reflect.apply(listen, this, args) as Server;
  } as typeof Server.prototype.listen;
}

/** What a plugin made without the host and did not end. */
export function rawResources(plugin: string): readonly string[] {
  return [...(resources.get(plugin)?.values() ?? [])];
}

/** The plugin that listens on a port of its own. */
export function listenerOn(port: number): string | undefined {
  for (const [plugin, own] of resources) {
    for (const resource of own.keys()) {
      const address = resource instanceof Server ? resource.address() : null;
      if (typeof address === 'object' && address?.port === port) return plugin;
    }
  }
  return undefined;
}

function note(plugin: string, resource: object, name: string): void {
  const own = resources.get(plugin) ?? new Map<object, string>();
  resources.set(plugin, own);
  own.set(resource, name);
}

function forget(resource: object): void {
  for (const own of resources.values()) own.delete(resource);
}

/** An interval is ended by itself, or by its number, too. */
function forgetTimer(timer: NodeJS.Timeout | string | number | undefined | null): void {
  if (resources.size === 0 || timer === undefined || timer === null) return;
  if (typeof timer === 'object') {
    forget(timer);
    return;
  }
  for (const own of resources.values()) {
    for (const resource of own.keys())
      if (!(resource instanceof Server) && Number(resource) === Number(timer)) own.delete(resource);
  }
}

/** `close()` and disposal end a timer without the functions that are watched. */
function forgetClosed(timer: NodeJS.Timeout): void {
  const close = timer.close.bind(timer);
  const end = (): NodeJS.Timeout => {
    forget(timer);
    return close();
  };
  timer.close = end;
  timer[Symbol.dispose] = () => void end();
}
