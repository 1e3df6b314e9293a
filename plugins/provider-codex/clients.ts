import { checkKey, createSdkClients, type SdkClients, sdkOptions } from 'mortise/contracts/models';
import type { GuardedFetch, ProviderSettings } from 'mortise/sdk';
import type { OpenAI } from 'openai';

type Account = ReturnType<typeof accountOf>;
export type Clients = SdkClients<Account, OpenAI>;

const defaultAddress = 'https://api.openai.com/v1';

export function createClients(fetch: GuardedFetch): Clients {
  return createSdkClients(
    () => import('openai'),
    ({ OpenAI: Client }, { apiKey, baseUrl: baseURL, headers }: Account) =>
      new Client({
        ...sdkOptions(fetch, headers),
        apiKey,
        baseURL,
        organization: null,
        project: null,
        webhookSecret: null,
        adminAPIKey: null,
      }),
  );
}

/** Address and headers of one account. @throws provider_not_configured */
export function accountOf({ api_key, base_url: baseUrl = defaultAddress, headers = {} }: ProviderSettings) {
  return { apiKey: checkKey(api_key), baseUrl, headers };
}
