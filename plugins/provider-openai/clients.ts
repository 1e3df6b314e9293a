import { providerError } from 'mortise/contracts/models';
import type { GuardedFetch } from 'mortise/sdk';
import type { OpenAI } from 'openai';
import type { Settings } from './create-provider.js';

/** Clients of the official SDK, one per account. The SDK is large: it is loaded with the first client. */
export interface Clients {
  /** Loads the SDK ahead of the first request. */
  load(): Promise<void>;
  /** @throws provider_not_configured */
  of(settings: Settings): Promise<OpenAI>;
}

/** The longest timer: the SDK's own time limit is off, since this plugin has one for the whole call. */
const never = 2 ** 31 - 1;

/** Characters that a header can carry. */
const keyCharacters = /^[\x21-\x7e]+$/;

/** The key in the form of a header. @throws provider_not_configured */
export function checkKey(apiKey: string | undefined): string {
  const key = apiKey?.trim() ?? '';
  if (key === '') throw providerError('provider_not_configured');
  if (keyCharacters.test(key)) return key;
  throw providerError('provider_not_configured', 'provider api_key has characters that no header can carry');
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
        timeout: never,
        // The SDK's log lines may contain bodies.
        logLevel: 'off',
        fetch: async (url, init) => shortBody(await fetch(String(url), { ...init, redirect: 'manual' } as RequestInit)),
      });
      if (known.size >= cacheSize) known.clear();
      known.set(account, client);
      return client;
    },
  };
}

/** Bytes of an error response that are read. */
const errorBodyLimit = 64 * 1024;

/** Limits the body of an error response, since the SDK reads all of it. */
async function shortBody(response: Response): Promise<Response> {
  if (response.ok || response.body === null) return response;
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const part of response.body) {
      parts.push(part);
      length += part.length;
      if (length >= errorBodyLimit) break;
    }
  } catch {
    // The status is enough.
  }
  const { status, headers } = response;
  return new Response(Buffer.concat(parts), { status, headers: new Headers([...headers]) });
}
