import type { MetricsService, Route, SettingsService } from 'mortise/sdk';

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
