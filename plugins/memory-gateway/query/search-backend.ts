import type { LedgerMemory } from 'mortise/contracts/logbook';
import { type CallContext, callOptions, type MemoryHit } from 'mortise/sdk';
import type { GatewayParts } from '../parts.js';
import { sha256 } from '../store/hashes.js';
import { ledgerFilters, type QueryArguments } from './query-arguments.js';
import { backendItem, type QueryItem } from './query-result.js';

const MOST_ASKED = 200;
/** A remote backend may know other spaces and filters than the ledger does: some of its hits are left out here. */
const ASKED_PER_RESULT = 4;
/** Memories that one query reads only to learn their space. */
const MOST_READ = 20;

export interface BackendAnswer {
  readonly items: readonly QueryItem[];
  readonly unknownFilters: readonly string[];
  /** Ids under which the backend has another text than was stored. */
  readonly altered: readonly string[];
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
    const memory = await backend.get(id, callOptions(ctx)).catch(() => undefined);
    const space = memory?.space ?? metadataSpace(memory?.metadata);
    if (space !== undefined) found.set(id, space);
  }
  return found;
}

/**
 * The text that was stored under the id of a hit. A backend that merges or mixes up memories must not show the text of
 * one space in another: where its text is not the one of the ledger, the ledger's counts, and without that there is none.
 */
function storedText(hit: MemoryHit, memory: LedgerMemory): string | null {
  if (hit.content === memory.payload || sha256(hit.content) === memory.payloadSha) return hit.content;
  return memory.payload;
}

/**
 * The ledger's rows of the hits. A backend whose books are the ledger has read some of them for this search; the word of
 * any other is not taken for them.
 */
async function rowsOf(
  hits: readonly MemoryHit[],
  isExact: boolean,
  { backend: { backend }, logbook: { ledger } }: GatewayParts,
): Promise<readonly LedgerMemory[]> {
  const isRow = (hit: MemoryHit, row: LedgerMemory) => row.backend === backend && row.backendMemoryId === hit.id;
  const rows = hits.flatMap((hit) =>
    isExact && hit.memory !== undefined && isRow(hit, hit.memory) ? [hit.memory] : [],
  );
  if (rows.length === hits.length) return rows;
  return ledger.byBackendIds(
    backend,
    hits.map(({ id }) => id),
  );
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
  const isExact = parts.backend.facts()?.capabilities.transactional === true;
  const limit = isExact ? topK : Math.min(ASKED_PER_RESULT * topK, MOST_ASKED);
  const { hits, unknownFilters } = await parts.backend.search({ query, spaces, filters, limit }, ctx);
  const { ledger } = parts.logbook;
  const rows = await rowsOf(hits, isExact, parts);
  // A backend may keep one memory for the same text of several spaces.
  const memories = Map.groupBy(rows, (row) => row.backendMemoryId);
  const spaceOfHit = (hit: MemoryHit) => metadataSpace(hit.metadata) ?? hit.space;
  const unplaced = hits.filter((hit) => !memories.has(hit.id) && spaceOfHit(hit) === undefined).map(({ id }) => id);
  const readBack = unplaced.length === 0 ? undefined : await readSpaces(unplaced, ctx, parts);
  const wanted = ledgerFilters(filters);
  const isFiltered = Object.keys(wanted).length > 0;
  const altered: string[] = [];
  const seen = new Set<string>();
  const items = hits.flatMap((hit) => {
    if (hit.score < (filters.minScore ?? 0) || seen.has(hit.id)) return [];
    seen.add(hit.id);
    const known = memories.get(hit.id);
    if (known !== undefined) {
      const memory = known.find((row) => spaces.includes(row.space) && ledger.matches(row, wanted));
      if (memory === undefined) return [];
      const content = storedText(hit, memory);
      if (content !== hit.content) altered.push(hit.id);
      return content === null ? [] : [backendItem({ ...hit, content, space: memory.space }, memory)];
    }
    const space = spaceOfHit(hit) ?? readBack?.get(hit.id);
    const isIn = space !== undefined && spaces.includes(space);
    return isIn && !isFiltered ? [backendItem({ ...hit, space }, undefined)] : [];
  });
  return { items, unknownFilters, altered };
}
