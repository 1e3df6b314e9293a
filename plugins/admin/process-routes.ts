import type { Database, MetricsService, PluginControl, Route, SettingsService } from 'mortise/sdk';

/** Returns `{version}`; authenticated callers also get the runtime and commit. */
export function versionRoute(settings: SettingsService): Route {
  const { version } = settings;
  return {
    handle: (_request, { principal }) => ({
      body: principal.authenticated
        ? { version, node: process.versions.node, commit: process.env.MORTISE_COMMIT ?? null, sdk: version }
        : { version },
    }),
  };
}

/** Responds as long as the event loop runs. */
export function healthzRoute(): Route {
  return { handle: () => ({ body: { ok: true } }) };
}

/** Returns 200 once all required plugins are active and the database responds. */
export function readyRoute(plugins: PluginControl, database: Database): Route {
  return {
    handle: async () => {
      const waiting: { key: string; state: string; code: string | null }[] = [...plugins.waiting()];
      if (!(await database.ping())) waiting.push({ key: 'database', state: 'failed', code: 'database_unavailable' });
      return waiting.length === 0 ? { body: { ready: true } } : { status: 503, body: { ready: false, waiting } };
    },
  };
}

/** Returns the metrics of the process as Prometheus text. */
export function metricsRoute(metrics: MetricsService): Route {
  return {
    handle: async () => ({
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
      body: await metrics.render(),
    }),
  };
}

/** Returns every effective setting with its source; secrets are masked. */
export function configRoute(settings: SettingsService): Route {
  return {
    handle: ({ query }) => ({ body: { values: settings.effective(query.get('owner') ?? undefined) } }),
  };
}
