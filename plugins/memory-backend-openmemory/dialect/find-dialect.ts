import type { Client } from '../http/create-client.js';
import { type Json, objectOf } from '../json.js';
import type { Dialect } from './dialect.js';
import { queryDialect } from './query-dialect.js';
import { searchDialect } from './search-dialect.js';

/** The dialect that a health check gives away; undefined when it fits both or neither. */
function dialectOfHealth(body: Json): Dialect | undefined {
  const fitting = [searchDialect, queryDialect].filter((dialect) => dialect.isHealthy(body));
  return fitting.length === 1 ? fitting[0] : undefined;
}

/**
 * Finds out what a server speaks: from its health check, else by asking it in one dialect and seeing whether it has the
 * route.
 * @throws MortiseError with the details of a `BackendFailure`, when the server cannot be asked.
 */
export async function findDialect(
  client: Client,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Dialect> {
  const asked = { headers, effect: 'reads' as const, signal };
  const health = await client.send({ ...asked, method: 'GET', path: '/health' }, [404, 405]);
  const named = dialectOfHealth(objectOf(health.body));
  if (named !== undefined) return named;
  const probe = { ...asked, method: 'POST' as const, path: queryDialect.searchPath, body: { query: 'memory', k: 1 } };
  const { status } = await client.send(probe, [400, 404, 405, 422]);
  return status === 404 || status === 405 ? searchDialect : queryDialect;
}
