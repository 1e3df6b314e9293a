import { checkKey, createSdkClients, type SdkClients, sdkOptions } from 'mortise/contracts/models';
import type { GuardedFetch, ProviderSettings } from 'mortise/sdk';
import type { OpenAI } from 'openai';
import type { Config } from './config.generated.js';

/** The settings of one call. */
export type Settings = Config & Pick<ProviderSettings, 'store' | 'timeout_ms' | 'max_retries' | 'idle_timeout_ms'>;

type Account = ReturnType<typeof accountOf>;
export type Clients = SdkClients<Account, OpenAI>;

export function createClients(fetch: GuardedFetch): Clients {
  return createSdkClients(
    () => import('openai'),
    ({ OpenAI: Client }, { headers, ...account }: Account) =>
      new Client({ ...sdkOptions(fetch, headers), ...account, webhookSecret: null, adminAPIKey: null }),
  );
}

/** The settings that identify an account. @throws provider_not_configured */
export function accountOf({ api_key, base_url: baseURL, organization, project, headers }: Settings) {
  return { apiKey: checkKey(api_key), baseURL, organization: organization ?? null, project: project ?? null, headers };
}
