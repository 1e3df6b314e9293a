import type { Database, PluginControl, Route, SettingsService } from 'mortise/sdk';
import type { MetricsService, Route } from 'mortise/sdk';
import type { Route, SettingsService } from 'mortise/sdk';

/** `{version}`; callers with a valid key also see what it runs on. */
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

/** Answers while the event loop turns. */
export function healthzRoute(): Route {
  return { handle: () => ({ body: { ok: true } }) };
}

/** 200 once all required plugins are active and the database answers. */
export function readyRoute(plugins: PluginControl, database: Database): Route {
  return {
    handle: async () => {
      const waiting: { key: string; state: string; code: string | null }[] = [...plugins.waiting()];
      if (!(await database.ping())) waiting.push({ key: 'database', state: 'failed', code: 'database_unavailable' });
      return waiting.length === 0 ? { body: { ready: true } } : { status: 503, body: { ready: false, waiting } };
    },
  };
}

/** Prometheus text of the whole process. */
export function metricsRoute(metrics: MetricsService): Route {
  return {
    handle: async () => ({
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
      body: await metrics.render(),
    }),
  };
}

/** Every effective value with its source; secrets are masked. */
export function configRoute(settings: SettingsService): Route {
  return {
    handle: ({ query }) => ({ body: { values: settings.effective(query.get('owner') ?? undefined) } }),
  };
}
