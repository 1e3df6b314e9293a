import type { GuardedFetch } from 'mortise/sdk';
import type { OpenAI } from 'openai';
import type { Config } from '../config.generated.js';
import { providerError } from '../errors.js';
import { shortBody } from './short-body.js';

/** Clients of the official SDK, one for each account. The SDK is large and loaded with the first of them. */
export interface Clients {
  /** Loads the SDK ahead of the first request. */
  load(): Promise<void>;
  /** @throws provider_not_configured */
  of(settings: Config): Promise<OpenAI>;
}

/** The longest that a timer can wait: the SDK's own time limit is off, since this plugin has one for the whole call. */
const never = 2 ** 31 - 1;

/** What a header can carry: a key that was cut short on its way here often ends in something else. */
const keyCharacters = /^[\x21-\x7e]+$/;

/** Accounts that are kept. More than one comes only from provider rows. */
const most = 32;

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
      if (!apiKey?.trim()) throw providerError('provider_not_configured');
      if (!keyCharacters.test(apiKey.trim())) {
        throw providerError('provider_not_configured', 'provider api_key has characters that no header can carry');
      }
      const account = JSON.stringify([apiKey, baseURL, organization, project, headers]);
      const found = known.get(account);
      if (found) return found;
      const { OpenAI: Client } = await load();
      const client = new Client({
        apiKey: apiKey.trim(),
        baseURL,
        organization,
        project,
        webhookSecret: null,
        adminAPIKey: null,
        // Custom headers come last and may override what the SDK sends.
        defaultHeaders: { 'X-Stainless-Timeout': null, ...headers },
        maxRetries: 0,
        timeout: never,
        // Its log lines may hold bodies.
        logLevel: 'off',
        fetch: async (url, init) => shortBody(await fetch(String(url), { ...init, redirect: 'manual' } as RequestInit)),
      });
      if (known.size >= most) known.clear();
      known.set(account, client);
      return client;
    },
  };
}
