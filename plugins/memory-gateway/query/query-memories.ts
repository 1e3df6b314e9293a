import type { LedgerState } from 'mortise/contracts/logbook';
import { type CallContext, isBlankText } from 'mortise/sdk';
import { failureText } from '../backend-client.js';
import { defaultSpace } from '../config.js';
import { backendUnavailable, databaseCheckFailed, databaseUnavailable, isDatabaseDown } from '../dependency-error.js';
import type { GatewayParts } from '../parts.js';
import { mayUseSpace } from '../policy/space-access.js';
import { degradedQuery } from './degraded-query.js';
import { newestMemories } from './newest-memories.js';
import { ledgerFilters, type QueryArguments, readQueryArguments } from './query-arguments.js';
import { byScore, ledgerItem, type QueryItem, type QueryResult } from './query-result.js';
import { refuseSpace } from './refuse-space.js';
import { searchBackend } from './search-backend.js';
import { splitQuestion } from './split-question.js';

const undelivered: readonly LedgerState[] = ['queued', 'dead', 'merged'];

/** Memories that were accepted but that the backend does not have. */
async function searchPending(asked: QueryArguments, parts: GatewayParts): Promise<readonly QueryItem[]> {
  const { ledger } = parts.logbook;
  // Mostly there are none, and to know that is cheaper than to put the question.
  if (!(await ledger.hasAny(asked.spaces, undelivered))) return [];
  const hits = await ledger.searchText({
    question: splitQuestion(asked.query),
    spaces: asked.spaces,
    states: undelivered,
    filters: ledgerFilters(asked.filters),
    limit: asked.topK,
  });
  const minScore = asked.filters.minScore ?? 0;
  return hits.filter(({ score }) => score >= minScore).map(({ memory, score }) => ledgerItem(memory, score, 'pending'));
}

/** Where the caller's own memories went while the policy kept them out of a shared space. */
async function privateHint(asked: QueryArguments, ctx: CallContext, parts: GatewayParts): Promise<string | null> {
  const own = `private:${ctx.principal.actor ?? 'unknown'}`;
  const isShared = asked.spaces.some((space) => !space.startsWith('private:'));
  if (!isShared || asked.spaces.includes(own) || !mayUseSpace(ctx.principal, own)) return null;
  const { items } = await searchBackend({ ...asked, spaces: [own] }, ctx, parts);
  const found = Math.min(items.length, asked.topK);
  if (found === 0) return null;
  return `Nothing matches in ${asked.spaces.join(', ')}, but ${own} has ${found} matching ${found === 1 ? 'memory' : 'memories'}.`;
}

type Answer = Pick<QueryResult, 'results' | 'message' | 'degraded'> & { readonly warnings: readonly string[] };

async function answer(asked: QueryArguments, ctx: CallContext, parts: GatewayParts): Promise<Answer> {
  if (isBlankText(asked.query)) return { ...(await newestMemories(asked, ctx, parts)), warnings: [] };
  const [found, pending] = [await searchBackend(asked, ctx, parts), await searchPending(asked, parts)];
  const results = [...found.items, ...pending].sort(byScore).slice(0, asked.topK);
  const message = results.length === 0 ? await privateHint(asked, ctx, parts) : null;
  const warnings = [
    ...found.unknownFilters.map((name) => `unknown filter: ${name}`),
    ...found.altered.map((id) => `the memory backend has another text under ${id} than was stored`),
  ];
  return { results, message, degraded: false, warnings };
}

/** @throws MortiseError when the fallback fails too. */
async function fallback(asked: QueryArguments, parts: GatewayParts, cause: unknown): Promise<Answer> {
  parts.log.warn({ err: cause, backend: parts.backend.backend }, 'A query is answered without the memory backend.');
  try {
    const results = await degradedQuery(asked, parts);
    const message = `Degraded query (memory backend unavailable): ${failureText(cause)}`;
    return { results, message, degraded: true, warnings: [] };
  } catch (error) {
    if (isDatabaseDown(parts.database, cause)) throw databaseUnavailable(error);
    if (parts.database.codec.errorKind(cause) !== 'other') throw databaseCheckFailed(error);
    throw backendUnavailable(parts.backend.backend, cause);
  }
}

/**
 * Finds memories in the spaces asked for: in the backend, in what waits for it, and without it in what is kept locally.
 *
 * @throws MortiseError `INVALID_PARAM_VALUE`, `SPACE_FORBIDDEN`, `LOGBOOK_DB_UNAVAILABLE`, `OPENMEMORY_*`.
 */
export async function queryMemories(
  args: Readonly<Record<string, unknown>>,
  ctx: CallContext,
  parts: GatewayParts,
): Promise<QueryResult> {
  const asked = readQueryArguments(args, defaultSpace(parts.config, parts.projectKey));
  const forbidden = asked.spaces.find((space) => !mayUseSpace(ctx.principal, space));
  if (forbidden !== undefined) await refuseSpace(forbidden, ctx, parts);
  let found: Answer;
  try {
    found = await answer(asked, ctx, parts);
  } catch (error) {
    if (ctx.signal.aborted) throw error;
    found = await fallback(asked, parts, error);
  }
  return {
    ok: true,
    results: found.results,
    total: found.results.length,
    spaces_searched: asked.spaces,
    message: found.message,
    degraded: found.degraded,
    correlation_id: ctx.correlationId,
    ...(found.warnings.length === 0 ? {} : { warnings: found.warnings }),
  };
}
