import type { Route, SettingsService } from 'mortise/sdk';

/** Every effective value with its source; secrets are masked. */
export function configRoute(settings: SettingsService): Route {
  return {
    handle: ({ query }) => ({ body: { values: settings.effective(query.get('owner') ?? undefined) } }),
  };
}
