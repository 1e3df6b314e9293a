import type { MetricsService, Route } from 'mortise/sdk';

/** Prometheus text of the whole process. */
export function metricsRoute(metrics: MetricsService): Route {
  return {
    handle: async () => ({
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
      body: await metrics.render(),
    }),
  };
}
