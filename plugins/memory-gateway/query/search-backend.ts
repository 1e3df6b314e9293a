import type { CallContext, MemoryHit } from 'mortise/sdk';
import type { GatewayParts } from '../parts.js';
import { ledgerFilters, type QueryArguments } from './query-arguments.js';
import { backendItem, type QueryItem } from './query-result.js';

const MOST_ASKED = 200;
const ASKED_PER_RESULT = 4;
/** Memories that one query reads only to learn their space. */
const MOST_READ = 20;

export interface BackendAnswer {
  readonly items: readonly QueryItem[];
  readonly unknownFilters: readonly string[];
}

function metadataSpace(metadata: MemoryHit['metadata']): string | undefined {
  return typeof metadata?.space === 'string' ? metadata.space : undefined;
}

/** Reads what neither the ledger nor the hit can place; a memory that cannot be read stays without a space. */
async function readSpaces(
  ids: readonly string[],
  ctx: CallContext,
  { backend }: GatewayParts,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const id of ids.slice(0, MOST_READ)) {
    const memory = await backend.get(id, { ...callerOf(ctx) }).catch(() => undefined);
    const space = memory?.space ?? metadataSpace(memory?.metadata);
    if (space !== undefined) found.set(id, space);
  }
  return found;
}

function callerOf({ signal, principal, requestId, correlationId }: CallContext) {
  return { signal, principal, requestId, correlationId };
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
  // A backend may keep one memory for the same text of several spaces.
  const memories = Map.groupBy(rows, (row) => row.backendMemoryId);
  const spaceOfHit = (hit: MemoryHit) => metadataSpace(hit.metadata) ?? hit.space;
  const unplaced = hits.filter((hit) => !memories.has(hit.id) && spaceOfHit(hit) === undefined).map(({ id }) => id);
  const readBack = unplaced.length === 0 ? undefined : await readSpaces(unplaced, ctx, parts);
  const wanted = ledgerFilters(filters);
  const isFiltered = Object.keys(wanted).length > 0;
  const items = hits.flatMap((hit) => {
    if (hit.score < (filters.minScore ?? 0)) return [];
    const known = memories.get(hit.id);
    if (known !== undefined) {
      const memory = known.find((row) => spaces.includes(row.space) && ledger.matches(row, wanted));
      return memory === undefined ? [] : [backendItem({ ...hit, space: memory.space }, memory)];
    }
    const space = spaceOfHit(hit) ?? readBack?.get(hit.id);
    const isIn = space !== undefined && spaces.includes(space);
    return isIn && !isFiltered ? [backendItem({ ...hit, space }, undefined)] : [];
  });
  return { items, unknownFilters };
}
