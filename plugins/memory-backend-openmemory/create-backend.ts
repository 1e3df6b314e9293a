import type { Alert, GuardedFetch, MemoryBackend, MemoryBackendFacts } from 'mortise/sdk';
import { find } from './calls/find.js';
import { get } from './calls/get.js';
import { health } from './calls/health.js';
import { list } from './calls/list.js';
import { search } from './calls/search.js';
import { store } from './calls/store.js';
import type { Config } from './config.generated.js';
import { queryDialect } from './dialect/query-dialect.js';
import { createSpokenDialect } from './dialect/spoken-dialect.js';
import { createClient } from './http/create-client.js';
import type { OpenMemoryParts } from './parts.js';
import { watchConfiguration } from './watch-configuration.js';

/** The backend `openmemory`. It connects when it is first used. */
export function createBackend(
  facts: MemoryBackendFacts,
  config: Config,
  outside: { readonly fetch: GuardedFetch; readonly raise: (alert: Alert) => void },
): MemoryBackend {
  const client = createClient(outside.fetch, config.base_url);
  const apiKey = config.api_key?.trim() || undefined;
  // Before the dialect is known the key is shown in every way that a server may look for it.
  const headers = apiKey === undefined ? {} : queryDialect.authorisation(apiKey);
  const parts: OpenMemoryParts = { client, apiKey, spoken: createSpokenDialect(config.dialect, client, headers) };
  const watched = watchConfiguration(outside.raise);
  const limit = facts.limits?.maxContentChars ?? Number.POSITIVE_INFINITY;
  const canList = config.dialect !== 'search';

  return {
    ...facts,
    capabilities: { ...facts.capabilities, list: canList },
    store: (item, ctx) => watched(() => store(item, ctx, parts, limit)),
    search: (wanted, ctx) => watched(() => search(wanted, ctx, parts)),
    get: (id, ctx) => watched(() => get(id, ctx, parts)),
    find: (wanted, ctx) => watched(() => find(wanted, ctx, parts)),
    health: (ctx) => health(ctx, parts, config.dialect),
    ...(canList && { list: (cursor, size, ctx) => watched(() => list(cursor, size, ctx, parts)) }),
  };
}
