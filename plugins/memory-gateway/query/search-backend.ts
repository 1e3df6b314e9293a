import type { LedgerMemory } from 'mortise/contracts/logbook';
import { type CallContext, callOptions, type MemoryHit } from 'mortise/sdk';
import type { Gateway } from '../gateway.js';
import { sha256 } from '../store/hashes.js';
import { ledgerFilters, type QueryArguments } from './query-arguments.js';
import { backendItem, type QueryItem } from './query-result.js';

const MAX_HITS = 200;
/** A remote backend may not apply all spaces and filters, so some of its hits are dropped here. */
const HITS_PER_RESULT = 4;
/** Maximum number of memories that one query reads from the backend to find their space. */
const MAX_READ = 20;

interface BackendAnswer {
  readonly items: readonly QueryItem[];
  readonly unknownFilters: readonly string[];
  /** Ids under which the backend has a different text than was stored. */
  readonly altered: readonly string[];
}

function metadataSpace(metadata: MemoryHit['metadata']): string | undefined {
  return typeof metadata?.space === 'string' ? metadata.space : undefined;
}

/** Reads the spaces of memories whose space is in neither the ledger nor the hit. A failed read leaves it unknown. */
async function readSpaces(
  ids: readonly string[],
  ctx: CallContext,
  { backend }: Gateway,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const id of ids.slice(0, MAX_READ)) {
    const memory = await backend.get(id, callOptions(ctx)).catch(() => undefined);
    const space = memory?.space ?? metadataSpace(memory?.metadata);
    if (space !== undefined) found.set(id, space);
  }
  return found;
}

/**
 * The text that was stored under the id of a hit. A backend that merges or mixes up memories must not show the text of
 * one space in another: where its text differs from the ledger, the ledger's text is used, or null if it has none.
 */
function storedText(hit: MemoryHit, memory: LedgerMemory): string | null {
  if (hit.content === memory.payload || sha256(hit.content) === memory.payloadSha) return hit.content;
  return memory.payload;
}

/**
 * The ledger rows of the hits. A transactional backend may have read them for this search already; rows that any other
 * backend returns are not trusted.
 */
async function rowsOf(
  hits: readonly MemoryHit[],
  isExact: boolean,
  { backend: { backend }, logbook: { ledger } }: Gateway,
): Promise<readonly LedgerMemory[]> {
  const belongs = (hit: MemoryHit, row: LedgerMemory) => row.backend === backend && row.backendMemoryId === hit.id;
  const rows = hits.flatMap((hit) =>
    isExact && hit.memory !== undefined && belongs(hit, hit.memory) ? [hit.memory] : [],
  );
  if (rows.length === hits.length) return rows;
  return ledger.byBackendIds(
    backend,
    hits.map(({ id }) => id),
  );
}

/**
 * Searches the backend and keeps the hits that are known to be in the spaces and to match the filters. The space in the
 * ledger has precedence. A memory without a ledger row cannot be checked, so any filter drops it.
 */
export async function searchBackend(
  request: QueryArguments,
  ctx: CallContext,
  gateway: Gateway,
): Promise<BackendAnswer> {
  const { query, spaces, filters, topK } = request;
  const isExact = gateway.backend.facts()?.capabilities.transactional === true;
  const limit = isExact ? topK : Math.min(HITS_PER_RESULT * topK, MAX_HITS);
  const { hits, unknownFilters } = await gateway.backend.search({ query, spaces, filters, limit }, ctx);
  const { ledger } = gateway.logbook;
  const rows = await rowsOf(hits, isExact, gateway);
  // A backend may keep one memory for the same text in several spaces.
  const memories = Map.groupBy(rows, (row) => row.backendMemoryId);
  const spaceOfHit = (hit: MemoryHit) => metadataSpace(hit.metadata) ?? hit.space;
  const unplaced = hits.filter((hit) => !memories.has(hit.id) && spaceOfHit(hit) === undefined).map(({ id }) => id);
  const readBack = unplaced.length === 0 ? undefined : await readSpaces(unplaced, ctx, gateway);
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
