import type { CallContext, MemoryHit } from 'mortise/sdk';
import type { GatewayParts } from '../parts.js';
import { ledgerFilters, type QueryArguments } from './query-arguments.js';
import { backendItem, type QueryItem } from './query-result.js';

const MOST_ASKED = 200;
const ASKED_PER_RESULT = 4;

export interface BackendAnswer {
  readonly items: readonly QueryItem[];
  readonly unknownFilters: readonly string[];
}

function metadataSpace(hit: MemoryHit): string | undefined {
  const space = hit.metadata?.space;
  return typeof space === 'string' ? space : hit.space;
}

/**
 * Asks the backend, and keeps what is certainly in the spaces and meets the filters: the ledger knows best where a
 * memory is, and what the ledger does not know cannot be checked against a filter.
 */
export async function searchBackend(
  asked: QueryArguments,
  ctx: CallContext,
  parts: GatewayParts,
): Promise<BackendAnswer> {
  const { query, spaces, filters, topK } = asked;
  const limit = Math.min(ASKED_PER_RESULT * topK, MOST_ASKED);
  const { hits, unknownFilters } = await parts.backend.search({ query, spaces, filters, limit }, ctx);
  const { ledger } = parts.logbook;
  const rows = await ledger.byBackendIds(
    parts.backend.backend,
    hits.map(({ id }) => id),
  );
  const memories = new Map(rows.map((row) => [row.backendMemoryId, row]));
  const wanted = ledgerFilters(filters);
  const isFiltered = Object.keys(wanted).length > 0;
  const items = hits.flatMap((hit) => {
    const memory = memories.get(hit.id);
    const space = memory?.space ?? metadataSpace(hit);
    const isWanted = memory === undefined ? !isFiltered : ledger.matches(memory, wanted);
    const isIn = space !== undefined && spaces.includes(space);
    return isIn && isWanted && hit.score >= (filters.minScore ?? 0) ? [backendItem({ ...hit, space }, memory)] : [];
  });
  return { items, unknownFilters };
}
