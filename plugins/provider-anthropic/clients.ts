import type { Anthropic } from '@anthropic-ai/sdk';
import { checkKey, noTimeout, sdkFetch } from 'mortise/contracts/models';
import type { GuardedFetch, ProviderSettings } from 'mortise/sdk';

/** Clients of the official SDK, one per account. The SDK is large: it is loaded with the first client. */
export interface Clients {
  /** @throws provider_not_configured */
  of(settings: ProviderSettings): Promise<Anthropic>;
}

/** The revision of the API that this adapter reads and writes. */
export const apiVersion = '2023-06-01';

const ownAddress = 'https://api.anthropic.com';

/** Cached clients. */
const cacheSize = 32;

export function createClients(fetch: GuardedFetch): Clients {
  const known = new Map<string, Anthropic>();
  let sdk: Promise<typeof import('@anthropic-ai/sdk')> | undefined;
  return {
    async of(settings) {
      const { baseUrl, apiKey, headers } = accountOf(settings);
      const account = JSON.stringify([baseUrl, apiKey, headers]);
      const found = known.get(account);
      if (found) return found;
      sdk ??= import('@anthropic-ai/sdk');
      const { Anthropic: Client } = await sdk;
      const client = new Client({
        apiKey,
        baseURL: baseUrl,
        webhookKey: null,
        // Custom headers come last and may override those of the SDK.
        defaultHeaders: { 'X-Stainless-Timeout': null, Authorization: null, ...headers },
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

/** Address and headers of one account. The address is without the version, which the paths have. */
export function accountOf({ api_key, base_url = ownAddress, headers }: ProviderSettings) {
  const apiKey = checkKey(api_key);
  return {
    apiKey,
    baseUrl: base_url.replace(/\/v1$/, ''),
    headers: { 'x-api-key': apiKey, 'anthropic-version': apiVersion, ...headers },
  };
}
