import { apiError } from '../failure.js';
import type { Client } from '../http/create-client.js';
import { type Json, objectOf } from '../json.js';
import type { Dialect } from './dialect.js';
import { queryDialect } from './query-dialect.js';
import { searchDialect } from './search-dialect.js';

type Headers = Readonly<Record<string, string>>;

/** The dialect that a health check gives away; undefined when it fits both or neither. */
function dialectOfHealth(body: Json): Dialect | undefined {
  const fitting = [searchDialect, queryDialect].filter((dialect) => dialect.isHealthy(body));
  return fitting.length === 1 ? fitting[0] : undefined;
}

/**
 * Whether a server answers a search of this dialect, if only by finding fault with it. Neither a missing route nor a
 * page that something before the server puts up is an answer.
 */
async function answers(dialect: Dialect, client: Client, headers: Headers, signal: AbortSignal): Promise<boolean> {
  const { body } = dialect.searchBody({ query: 'memory', spaces: [], filters: {}, limit: 1 });
  const request = { method: 'POST', path: dialect.searchPath, headers, body, effect: 'reads', signal } as const;
  const answer = await client.send(request, [400, 404, 405, 422]);
  if (answer.status === 400 || answer.status === 422) return true;
  return Array.isArray(objectOf(answer.body)[dialect.hits]);
}

/** The first of these dialects whose search is answered. @throws MortiseError with the details of a `BackendFailure`. */
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
 * Finds out what a server speaks: from its health check, else by asking it in one dialect after the other.
 * @throws MortiseError with the details of a `BackendFailure`, when the server cannot be asked or answers to neither.
 */
export async function findDialect(client: Client, headers: Headers, signal: AbortSignal): Promise<Dialect> {
  const health = await client.send({ method: 'GET', path: '/health', headers, effect: 'reads', signal }, [404, 405]);
  const named = dialectOfHealth(objectOf(health.body));
  const spoken = named ?? (await firstAnswered([queryDialect, searchDialect], client, headers, signal));
  if (spoken === undefined) throw apiError(404, 'reads');
  return spoken;
}

/**
 * What a server speaks after a route of `known` was missing: still that, unless it answers in the other dialect and no
 * longer in this one. A missing route alone may be the word of a proxy whose server is being replaced.
 */
export async function checkDialect(
  known: Dialect,
  client: Client,
  headers: Headers,
  signal: AbortSignal,
): Promise<Dialect> {
  const other = known === queryDialect ? searchDialect : queryDialect;
  try {
    return (await firstAnswered([known, other], client, headers, signal)) ?? known;
  } catch {
    return known;
  }
}
