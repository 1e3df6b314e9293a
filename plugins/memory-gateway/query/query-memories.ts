import { mayUseSpace } from 'mortise/contracts/memory-gateway';
import { type CallContext, isBlankText } from 'mortise/sdk';
import { failureText } from '../backend/read-failure.js';
import { backendUnavailable, databaseCheckFailed, databaseUnavailable, isDatabaseDown } from '../errors.js';
import type { Gateway } from '../gateway.js';
import { PrincipalRefused, spaceForbidden } from '../policy/principal-access.js';
import { type QueryArguments, readQueryArguments } from './query-arguments.js';
import { byScore, type QueryResult } from './query-result.js';
import { searchBackend } from './search-backend.js';
import { newestMemories, searchUndelivered, searchWithoutBackend } from './search-ledger.js';

/** Audits and refuses a query of a space that the principal may not use. @throws PrincipalRefused */
async function refuseSpace(space: string, { principal, correlationId }: CallContext, gateway: Gateway): Promise<never> {
  const { reason, explanation } = spaceForbidden;
  const audit = {
    action: 'reject',
    operation: 'gate',
    reason,
    status: 'failed',
    actorUserId: principal.actor ?? null,
    principal: principal.id,
    targetSpace: space,
    correlationId,
    evidence: { source: 'gateway', correlation_id: correlationId, extra: { tool: 'memory_query' } },
  } as const;
  try {
    await gateway.writer.submit({ kind: 'audit', audit });
  } catch (error) {
    if (isDatabaseDown(gateway.database, error)) throw databaseUnavailable(error);
    throw error;
  }
  throw new PrincipalRefused(spaceForbidden, space, {
    ok: false,
    action: 'reject',
    results: [],
    total: 0,
    spaces_searched: [],
    message: `Rejected by policy: ${explanation} (${reason}).`,
    degraded: false,
    correlation_id: correlationId,
    reason,
  });
}

/** Points to the caller's private space, where the policy may have redirected memories sent to a shared one. */
async function privateHint(request: QueryArguments, ctx: CallContext, gateway: Gateway): Promise<string | null> {
  const own = `private:${ctx.principal.actor ?? 'unknown'}`;
  const isShared = request.spaces.some((space) => !space.startsWith('private:'));
  if (!isShared || request.spaces.includes(own) || !mayUseSpace(ctx.principal, own)) return null;
  const { items } = await searchBackend({ ...request, spaces: [own] }, ctx, gateway);
  const found = Math.min(items.length, request.topK);
  if (found === 0) return null;
  return `Nothing matches in ${request.spaces.join(', ')}, but ${own} has ${found} matching ${found === 1 ? 'memory' : 'memories'}.`;
}

type Answer = Pick<QueryResult, 'results' | 'message' | 'degraded'> & { readonly warnings: readonly string[] };

async function answer(request: QueryArguments, ctx: CallContext, gateway: Gateway): Promise<Answer> {
  if (isBlankText(request.query)) return { ...(await newestMemories(request, ctx, gateway)), warnings: [] };
  const found = await searchBackend(request, ctx, gateway);
  const undelivered = await searchUndelivered(request, gateway);
  const results = [...found.items, ...undelivered].sort(byScore).slice(0, request.topK);
  const message = results.length === 0 ? await privateHint(request, ctx, gateway) : null;
  const warnings = [
    ...found.unknownFilters.map((name) => `unknown filter: ${name}`),
    ...found.altered.map((id) => `the memory backend has a different text under ${id} than was stored`),
  ];
  return { results, message, degraded: false, warnings };
}

/** Answers without the backend. @throws MortiseError when that fails too. */
async function fallback(request: QueryArguments, gateway: Gateway, cause: unknown): Promise<Answer> {
  gateway.log.warn({ err: cause, backend: gateway.backend.backend }, 'A query is answered without the memory backend.');
  try {
    const results = await searchWithoutBackend(request, gateway);
    const message = `Degraded query (memory backend unavailable): ${failureText(cause)}`;
    return { results, message, degraded: true, warnings: [] };
  } catch (error) {
    if (isDatabaseDown(gateway.database, cause)) throw databaseUnavailable(error);
    if (gateway.database.codec.errorKind(cause) !== 'other') throw databaseCheckFailed(error);
    throw backendUnavailable(gateway.backend.backend, cause);
  }
}

/**
 * Finds memories in the backend, and undelivered ones in the ledger. If the backend fails, the ledger answers alone.
 *
 * @throws MortiseError `INVALID_PARAM_VALUE`, `SPACE_FORBIDDEN`, `LOGBOOK_DB_UNAVAILABLE`, `OPENMEMORY_*`.
 */
export async function queryMemories(
  args: Readonly<Record<string, unknown>>,
  ctx: CallContext,
  gateway: Gateway,
): Promise<QueryResult> {
  const request = readQueryArguments(args, gateway.defaultSpace);
  const forbidden = request.spaces.find((space) => !mayUseSpace(ctx.principal, space));
  if (forbidden !== undefined) await refuseSpace(forbidden, ctx, gateway);
  let found: Answer;
  try {
    found = await answer(request, ctx, gateway);
  } catch (error) {
    if (ctx.signal.aborted) throw error;
    found = await fallback(request, gateway, error);
  }
  return {
    ok: true,
    results: found.results,
    total: found.results.length,
    spaces_searched: request.spaces,
    message: found.message,
    degraded: found.degraded,
    correlation_id: ctx.correlationId,
    ...(found.warnings.length === 0 ? {} : { warnings: found.warnings }),
  };
}
