import type { DatabaseHost } from '../database/index.js';
import type { HttpServer } from '../http/index.js';
import type { Kernel } from '../kernel/kernel.js';
import type { Scheduler } from '../schedule/index.js';
import type { HostServices } from '../sdk/host/index.js';
import type { PluginControl } from '../sdk/host/plugin-control.js';
import type { PluginsFile, Settings } from '../settings/types.js';
import type { LogSink, MetricsRegistry, Tracing } from '../telemetry/types.js';
import { token } from './composition.js';
import type { LazyFetch } from './lazy-fetch.js';

/** The parts of a process, one token each. */
export const parts = {
  settings: token<Settings>('settings'),
  log: token<LogSink>('log'),
  metrics: token<MetricsRegistry>('metrics'),
  tracing: token<Tracing>('tracing'),
  scheduler: token<Scheduler>('scheduler'),
  database: token<DatabaseHost>('database'),
  http: token<HttpServer>('http'),
  fetch: token<LazyFetch>('fetch'),
  pluginsFile: token<PluginsFile>('plugins-file'),
  kernel: token<Kernel>('kernel'),
  control: token<PluginControl>('control'),
} as const;

/** The token of a host service inside a plugin's container. */
export function serviceToken<S extends keyof HostServices>(
  service: S,
): { readonly name: string; readonly type?: HostServices[S] } {
  return token<HostServices[S]>(`service:${service}`);
}
