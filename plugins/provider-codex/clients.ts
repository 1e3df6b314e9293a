import { checkKey, noTimeout, sdkFetch } from 'mortise/contracts/models';
import type { GuardedFetch, ProviderSettings } from 'mortise/sdk';
import type { OpenAI } from 'openai';

/** Clients of the official SDK, one per account. The SDK is large: it is loaded with the first client. */
export interface Clients {
  /** @throws provider_not_configured */
  of(settings: ProviderSettings): Promise<OpenAI>;
}

const ownAddress = 'https://api.openai.com/v1';

/** Cached clients. */
const cacheSize = 32;

export function createClients(fetch: GuardedFetch): Clients {
  const known = new Map<string, OpenAI>();
  let sdk: Promise<typeof import('openai')> | undefined;
  return {
    async of(settings) {
      const { apiKey, baseUrl, headers } = accountOf(settings);
      const account = JSON.stringify([apiKey, baseUrl, headers]);
      const found = known.get(account);
      if (found) return found;
      sdk ??= import('openai');
      const { OpenAI: Client } = await sdk;
      const client = new Client({
        apiKey,
        baseURL: baseUrl,
        organization: null,
        project: null,
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

/** Address and headers of one account. */
export function accountOf({ api_key, base_url: baseUrl = ownAddress, headers = {} }: ProviderSettings) {
  return { apiKey: checkKey(api_key), baseUrl, headers };
}
