import { Server } from 'node:net';
import { currentPlugin } from '../kernel/attribution.js';

/** Timers and listening servers that plugins made without the host, while they exist. The doctor reports them. */
const resources = new Map<string, Map<object, string>>();
let watching = false;

/**
 * Begins to record raw intervals and listening servers that plugins make.
 */
export function watchRawResources(): void {
  if (watching) return;
  watching = true;
  const setIntervalBefore = globalThis.setInterval;
  const clearIntervalBefore = globalThis.clearInterval;
  globalThis.setInterval = Object.assign((...args: Parameters<typeof setIntervalBefore>) => {
    const timer = setIntervalBefore(...args);
    const plugin = currentPlugin();
    if (plugin !== undefined) note(plugin, timer, 'an interval timer');
    return timer;
  }, setIntervalBefore) as typeof setInterval;
  globalThis.clearInterval = (timer) => {
    if (typeof timer === 'object' && timer !== null) forget(timer);
    clearIntervalBefore(timer);
  };
  // It ends intervals as well.
  const clearTimeoutBefore = globalThis.clearTimeout;
  globalThis.clearTimeout = (timer) => {
    if (resources.size > 0 && typeof timer === 'object' && timer !== null) forget(timer);
    clearTimeoutBefore(timer);
  };
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
