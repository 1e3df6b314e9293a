import { checkKey, noTimeout, sdkFetch } from 'mortise/contracts/models';
import type { GuardedFetch, ProviderSettings } from 'mortise/sdk';
import type { OpenAI } from 'openai';
import type { Config } from './config.generated.js';

/** The settings of one call. */
export type Settings = Config & Pick<ProviderSettings, 'store' | 'timeout_ms' | 'max_retries' | 'idle_timeout_ms'>;

/** Clients of the official SDK, one per account. The SDK is large: it is loaded with the first client. */
export interface Clients {
  /** Loads the SDK ahead of the first request. */
  load(): Promise<void>;
  /** @throws provider_not_configured */
  of(settings: Settings): Promise<OpenAI>;
}

/** Cached clients. More than one account comes only from provider rows. */
const cacheSize = 32;

export function createClients(fetch: GuardedFetch): Clients {
  const known = new Map<string, OpenAI>();
  let sdk: Promise<typeof import('openai')> | undefined;
  const load = (): Promise<typeof import('openai')> => {
    sdk ??= import('openai');
    return sdk;
  };
  return {
    async load() {
      await load();
    },
    async of(settings) {
      const { api_key: apiKey, base_url: baseURL, organization = null, project = null, headers } = settings;
      const key = checkKey(apiKey);
      const account = JSON.stringify([apiKey, baseURL, organization, project, headers]);
      const found = known.get(account);
      if (found) return found;
      const { OpenAI: Client } = await load();
      const client = new Client({
        apiKey: key,
        baseURL,
        organization,
        project,
        webhookSecret: null,
        adminAPIKey: null,
        // Custom headers come last and may override those of the SDK.
        defaultHeaders: { 'X-Stainless-Timeout': null, ...headers },
        maxRetries: 0,
        timeout: noTimeout,
        // The SDK's log lines may contain bodies.
        logLevel: 'off',
        fetch: sdkFetch(fetch),
      });
      if (known.size >= cacheSize) known.clear();
      known.set(account, client);
      return client;
    },
  };
}
