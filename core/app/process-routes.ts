import type { DatabaseHost } from '../database/index.js';
import type { MountedRoute } from '../http/index.js';
import { hostPaths } from '../kernel/plan.js';
import type { PluginControl } from '../sdk/host/plugin-control.js';
import { type CallContext, type Logger, platformPrincipal, type Route } from '../sdk/index.js';
import { newTraceContext } from '../telemetry/index.js';

interface ProcessRouteDeps {
  readonly version: string;
  /** Of a checkout. */
  readonly commit: string | null;
  readonly control: Pick<PluginControl, 'waiting'>;
  readonly database: Pick<DatabaseHost, 'forPlugin' | 'storage'>;
  readonly log: Logger;
}

/** Liveness, readiness and version: served by the host, so that no state of the plugins takes them away. */
export function processRoutes(deps: ProcessRouteDeps): readonly MountedRoute[] {
  const routes: Readonly<Record<(typeof hostPaths)[number], Route>> = {
    '/healthz': { handle: () => ({ body: { ok: true } }) },
    '/ready': readyRoute(deps),
    '/version': versionRoute(deps),
  };
  return hostPaths.map((path) => mounted(path, routes[path], deps.log));
}

/** 200 once all required plugins are active and the database answers; else 503 with what is missing. */
function readyRoute({ control, database }: ProcessRouteDeps): Route {
  const { ping } = database.forPlugin('host-ready', []);
  return {
    handle: async () => {
      await database.storage.check();
      const answers = await ping();
      const waiting: { readonly key: string; readonly state: string; readonly code: string | null }[] = [
        ...control.waiting(),
      ];
      if (!answers && !waiting.some(({ key }) => key === 'database'))
        waiting.push({ key: 'database', state: 'failed', code: 'database_unavailable' });
      return waiting.length === 0 ? { body: { ready: true } } : { status: 503, body: { ready: false, waiting } };
    },
  };
}

/** The version; callers with a valid key also get the runtime and the commit. */
function versionRoute({ version, commit }: ProcessRouteDeps): Route {
  return {
    handle: (_, { principal }) => ({
      body: principal.authenticated ? { version, node: process.versions.node, commit, sdk: version } : { version },
    }),
  };
}

/** A route of the host has no plugin, so its call is no lease. */
function mounted(path: string, route: Route, log: Logger): MountedRoute {
  return {
    plugin: 'host',
    declaration: { name: path.slice(1), kind: 'http', method: 'GET', path, auth: 'public' },
    enabled: true,
    invoke: {
      call: async (run, { signal, principal, requestId = '', correlationId = '', trace }) => {
        const ctx: CallContext = {
          signal: signal ?? new AbortController().signal,
          log,
          principal: principal ?? platformPrincipal,
          requestId,
          correlationId,
          trace: trace ?? newTraceContext(false),
        };
        return run(route, ctx);
      },
    },
  };
}
