import type { GuardedFetch } from 'mortise/sdk';
import { type Client, createClient, type Headers, withinBudget } from './client.js';
import type { Config } from './config.generated.js';
import { type Dialect, queryDialect, searchDialect } from './dialects.js';
import { apiError, isNoRoute, timedOut } from './failure.js';
import { objectOf } from './memory-format.js';

/** The OpenMemory server and the dialect by which it is called. */
export interface OpenMemoryServer {
  readonly client: Client;
  /** The key in every form that a server may read, for requests before the dialect is known. */
  readonly probeHeaders: Headers;
  /** Runs in the server's dialect, and once more in the other one when the server has changed to it. */
  inDialect<R>(signal: AbortSignal, run: (dialect: Dialect, headers: Headers) => Promise<R>): Promise<R>;
}

const detectionMs = 5_000;

/** Connects with the first call. A configured dialect is used regardless of the server's health check. */
export function createServer(fetch: GuardedFetch, config: Config): OpenMemoryServer {
  const client = createClient(fetch, config.base_url);
  const apiKey = config.api_key?.trim() || undefined;
  const probeHeaders = apiKey === undefined ? {} : queryDialect.authorisation(apiKey);
  const headersOf = (dialect: Dialect): Headers => (apiKey === undefined ? {} : dialect.authorisation(apiKey));

  if (config.dialect !== 'auto') {
    const dialect = config.dialect === 'search' ? searchDialect : queryDialect;
    return { client, probeHeaders, inDialect: (_signal, run) => run(dialect, headersOf(dialect)) };
  }

  let known: Dialect | undefined;
  let detection: Promise<Dialect> | undefined;
  const neverAborted = new AbortController().signal;

  /** Runs one detection at a time, shared by all calls that wait for it. */
  const detect = (how: (signal: AbortSignal) => Promise<Dialect>, caller: AbortSignal): Promise<Dialect> => {
    detection ??= withinBudget({ signal: neverAborted, timeoutMs: detectionMs }, how)
      .then((dialect) => {
        known = dialect;
        return dialect;
      })
      .finally(() => {
        detection = undefined;
      });
    return waitWithin(detection, caller);
  };

  return {
    client,
    probeHeaders,
    async inDialect(signal, run) {
      const dialect = known ?? (await detect((own) => findDialect(client, probeHeaders, own), signal));
      try {
        return await run(dialect, headersOf(dialect));
      } catch (error) {
        if (!isNoRoute(error)) throw error;
        // Another call may have detected the change already.
        const check = () => detect((own) => checkDialect(dialect, client, probeHeaders, own), signal);
        const current = known === dialect ? await check().catch(() => dialect) : (known ?? dialect);
        if (current === dialect) throw error;
        return run(current, headersOf(current));
      }
    },
  };
}

/** Waits for a shared promise, but not longer than this caller can. */
async function waitWithin<R>(pending: Promise<R>, signal: AbortSignal): Promise<R> {
  let onAbort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(timedOut('reads'));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([pending, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * Detects the dialect of a server: from its health check, else by a search in one dialect after the other.
 * @throws MortiseError with the details of a `BackendFailure`, when the server cannot be reached or answers in neither.
 */
async function findDialect(client: Client, headers: Headers, signal: AbortSignal): Promise<Dialect> {
  const health = await client.send({ method: 'GET', path: '/health', headers, effect: 'reads', signal }, [404, 405]);
  const matching = [searchDialect, queryDialect].filter((dialect) => dialect.isHealthy(objectOf(health.body)));
  const reported = matching.length === 1 ? matching[0] : undefined;
  const dialect = reported ?? (await firstAnswered([queryDialect, searchDialect], client, headers, signal));
  if (dialect === undefined) throw apiError(404, 'reads');
  return dialect;
}

/**
 * The dialect of a server after a route of `known` was missing: unchanged unless the server answers in the other one
 * and no longer in this one. A proxy whose server is being replaced also reports missing routes.
 */
async function checkDialect(known: Dialect, client: Client, headers: Headers, signal: AbortSignal): Promise<Dialect> {
  const other = known === queryDialect ? searchDialect : queryDialect;
  try {
    return (await firstAnswered([known, other], client, headers, signal)) ?? known;
  } catch {
    return known;
  }
}

/** The first dialect whose search is answered. @throws MortiseError with the details of a `BackendFailure`. */
async function firstAnswered(
  dialects: readonly Dialect[],
  client: Client,
  headers: Headers,
  signal: AbortSignal,
): Promise<Dialect | undefined> {
  for (const dialect of dialects) {
    if (await answers(dialect, client, headers, signal)) return dialect;
  }
  return undefined;
}

/**
 * Whether a server answers a search in this dialect, also by refusing the request as invalid. A missing route or a
 * page of a proxy is not an answer.
 */
async function answers(dialect: Dialect, client: Client, headers: Headers, signal: AbortSignal): Promise<boolean> {
  const { body } = dialect.searchBody({ query: 'memory', spaces: [], filters: {}, limit: 1 });
  const request = { method: 'POST', path: dialect.searchPath, headers, body, effect: 'reads', signal } as const;
  const response = await client.send(request, [400, 404, 405, 422]);
  if (response.status === 400 || response.status === 422) return true;
  return Array.isArray(objectOf(response.body)[dialect.hits]);
}
