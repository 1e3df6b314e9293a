import { type MemoryBackend, type MemoryBackendContext, MortiseError, type StoredMemory } from 'mortise/sdk';
import { withinBudget } from '../http/budget.js';
import type { OpenMemoryParts } from '../parts.js';
import { getWithin } from './get.js';
import { listWithin } from './list.js';
import { searchWithin } from './search.js';

type Wanted = Parameters<NonNullable<MemoryBackend['find']>>[0];

/** What is known of a memory that may be the wanted one. */
interface Candidate {
  readonly id: string;
  readonly content: string;
  readonly space?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

const MOST_HITS = 50;
const MOST_READS = 20;
const PAGE = 500;
/** What was sent lately is among the newest; a server with millions of memories is not read through for one. */
const MOST_LISTED = 10_000;

/** A memory that carries a key is that memory and no other, whatever its text; without one, space and text decide. */
function isWanted({ content, space, metadata }: Candidate, wanted: Wanted): boolean {
  const key = metadata?.mortise_key;
  if (typeof key === 'string') return key === wanted.memoryKey;
  return space === wanted.space && content === wanted.content;
}

async function findBySearch(wanted: Wanted, signal: AbortSignal, parts: OpenMemoryParts): Promise<StoredMemory | null> {
  const { hits } = await searchWithin(
    { query: wanted.content, spaces: [wanted.space], filters: {}, limit: MOST_HITS },
    signal,
    parts,
  );
  let reads = 0;
  for (const hit of hits) {
    if (isWanted(hit, wanted)) return { id: hit.id };
    // Hits may come without what would tell them apart: those of the same text are read whole.
    if (hit.metadata !== undefined || hit.content !== wanted.content || reads === MOST_READS) continue;
    reads += 1;
    const memory = await getWithin(hit.id, signal, parts);
    if (memory !== null && isWanted(memory, wanted)) return { id: memory.id };
  }
  return null;
}

async function findByList(wanted: Wanted, signal: AbortSignal, parts: OpenMemoryParts): Promise<StoredMemory | null> {
  let cursor: string | null = null;
  for (let seen = 0; seen < MOST_LISTED; ) {
    const page: Awaited<ReturnType<typeof listWithin>> = await listWithin(cursor, PAGE, signal, parts);
    const found = page.items.find((item) => isWanted(item, wanted));
    if (found !== undefined) return { id: found.id };
    if (page.next === null) return null;
    cursor = page.next;
    seen = Number(cursor);
  }
  return null;
}

/**
 * Looks for a memory that may have been stored although nobody heard of it: by a search for its text, then, where the
 * server can list, among its newest memories.
 * @throws MortiseError with the details of a `BackendFailure`: then it is not known.
 */
export function find(wanted: Wanted, ctx: MemoryBackendContext, parts: OpenMemoryParts): Promise<StoredMemory | null> {
  return withinBudget(ctx, async (signal) => {
    const found = await findBySearch(wanted, signal, parts);
    if (found !== null) return found;
    try {
      return await findByList(wanted, signal, parts);
    } catch (error) {
      if (error instanceof MortiseError && error.code === 'backend_list_unsupported') return null;
      throw error;
    }
  });
}
