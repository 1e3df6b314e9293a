import { listPage, type Route } from 'mortise/sdk';
import type { ModelAdministration } from './model-administration.js';
import type { ModelCache } from './model-cache.js';
import type { Adapters } from './model-table.js';
import { activeSlot, catalogInfo, providerInfos } from './show-models.js';

export function listProvidersRoute(cache: ModelCache): Route {
  return {
    async handle({ query }, ctx) {
      const page = { limit: query.get('limit'), cursor: query.get('cursor') };
      return { body: listPage(providerInfos(await cache.table()), ({ id }) => id, page, ctx) };
    },
  };
}

export function catalogRoute(cache: ModelCache, adapters: { readonly current: Adapters }): Route {
  return { handle: async () => ({ body: catalogInfo(await cache.table(), adapters.current) }) };
}

export function activeModelRoute(cache: ModelCache): Route {
  return { handle: async () => ({ body: activeSlot(await cache.table()) }) };
}

export function setActiveModelRoute(administration: ModelAdministration): Route {
  return { handle: async ({ body }, ctx) => ({ body: await administration.setActive(body, ctx) }) };
}

export function configureProviderRoute(administration: ModelAdministration): Route {
  return {
    handle: async ({ params, body }, ctx) => ({
      body: await administration.configure(params.provider_id ?? '', body, ctx),
    }),
  };
}

export function deleteProviderRoute(administration: ModelAdministration): Route {
  return { handle: async ({ params }, ctx) => ({ body: await administration.remove(params.provider_id ?? '', ctx) }) };
}
