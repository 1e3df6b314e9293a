import type { Anthropic } from '@anthropic-ai/sdk';
import { checkKey, createSdkClients, type SdkClients, sdkOptions } from 'mortise/contracts/models';
import type { GuardedFetch, ProviderSettings } from 'mortise/sdk';

type Account = ReturnType<typeof accountOf>;
export type Clients = SdkClients<Account, Anthropic>;

/** The revision of the API that this adapter reads and writes. */
const apiVersion = '2023-06-01';

const defaultAddress = 'https://api.anthropic.com';

export function createClients(fetch: GuardedFetch): Clients {
  return createSdkClients(
    () => import('@anthropic-ai/sdk'),
    ({ Anthropic: Client }, { apiKey, baseUrl: baseURL, headers }: Account) =>
      new Client({ ...sdkOptions(fetch, { Authorization: null, ...headers }), apiKey, baseURL, webhookKey: null }),
  );
}

/** Address and headers of one account. The address is without the version, which the paths have. @throws provider_not_configured */
export function accountOf({ api_key, base_url = defaultAddress, headers }: ProviderSettings) {
  const apiKey = checkKey(api_key);
  return {
    apiKey,
    baseUrl: base_url.replace(/\/v1$/, ''),
    headers: { 'x-api-key': apiKey, 'anthropic-version': apiVersion, ...headers },
  };
}
