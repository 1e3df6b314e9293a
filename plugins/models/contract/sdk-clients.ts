import type { GuardedFetch, GuardedFetchOptions } from 'mortise/sdk';

/** Clients of an official SDK, one per account. */
export interface SdkClients<Account, Client> {
  /** Loads the SDK ahead of the first request. */
  load(): Promise<unknown>;
  of(account: Account): Promise<Client>;
}

/** Maximum number of cached clients. Only stored providers add accounts. */
const cacheSize = 32;

/** @param load imports the SDK: it is large, so it is loaded with the first client */
export function createSdkClients<Sdk, Account, Client>(
  load: () => Promise<Sdk>,
  create: (sdk: Sdk, account: Account) => Client,
): SdkClients<Account, Client> {
  const known = new Map<string, Client>();
  let sdk: Promise<Sdk> | undefined;
  const loaded = (): Promise<Sdk> => {
    sdk ??= load();
    return sdk;
  };
  return {
    load: loaded,
    async of(account) {
      const key = JSON.stringify(account);
      const client = known.get(key) ?? create(await loaded(), account);
      if (known.size >= cacheSize) known.clear();
      known.set(key, client);
      return client;
    },
  };
}

/** The maximum of a timer, which turns the SDKs' time limits off: adapters limit the whole call. */
const noTimeout = 2 ** 31 - 1;

/** Options of the SDKs' clients that are the same for every API. */
export function sdkOptions(fetch: GuardedFetch, headers: Readonly<Record<string, string | null>>) {
  return {
    // Custom headers come last and may override those of the SDK.
    defaultHeaders: { 'X-Stainless-Timeout': null, ...headers },
    maxRetries: 0,
    timeout: noTimeout,
    // The SDK's log lines may contain bodies.
    logLevel: 'off',
    fetch: sdkFetch(fetch),
  } as const;
}

/**
 * The `fetch` of an SDK's client. It does not follow redirects, and reads only the beginning of an error response. The time
 * limits of the connection are off, because those of adapters may be longer.
 */
function sdkFetch(fetch: GuardedFetch): typeof globalThis.fetch {
  const options = { redirect: 'manual', headMs: 0, idleMs: 0 } as const;
  return async (url, init) => shortBody(await fetch(String(url), { ...init, ...options } as GuardedFetchOptions));
}

/** Maximum bytes of an error response that are read. */
const errorBodyLimit = 64 * 1024;

/** Limits the body of an error response, since the SDKs read all of it. */
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
    // The status suffices.
  }
  const { status, headers } = response;
  return new Response(Buffer.concat(parts), { status, headers: new Headers([...headers]) });
}
