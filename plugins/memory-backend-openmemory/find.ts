import { type MemoryBackend, MortiseError, type StoredMemory } from 'mortise/sdk';
import { get, list, type MemoryPage, search } from './read.js';
import type { OpenMemoryServer } from './server.js';

type Wanted = Parameters<NonNullable<MemoryBackend['find']>>[0];

const maxHits = 50;
const maxReads = 20;
const pageSize = 500;
/** A recently sent memory is among the newest; reading millions of older ones would take too long. */
const maxListed = 10_000;

/**
 * Looks for a memory that may have been stored although its response was lost: by a search for its text, then among
 * the newest memories if the server can list them.
 * @throws MortiseError with the details of a `BackendFailure`, when the answer is unknown.
 */
export async function find(
  wanted: Wanted,
  signal: AbortSignal,
  server: OpenMemoryServer,
): Promise<StoredMemory | null> {
  const found = await findBySearch(wanted, signal, server);
  if (found !== null) return found;
  try {
    return await findInList(wanted, signal, server);
  } catch (error) {
    if (error instanceof MortiseError && error.code === 'backend_list_unsupported') return null;
    throw error;
  }
}

async function findBySearch(
  wanted: Wanted,
  signal: AbortSignal,
  server: OpenMemoryServer,
): Promise<StoredMemory | null> {
  const query = { query: wanted.content, spaces: [wanted.space], filters: {}, limit: maxHits };
  const { hits } = await search(query, signal, server);
  let reads = 0;
  for (const hit of hits) {
    if (isWanted(hit, wanted)) return { id: hit.id };
    // A hit without metadata cannot be identified: one with the same text is read completely.
    if (hit.metadata !== undefined || hit.content !== wanted.content || reads === maxReads) continue;
    reads += 1;
    const memory = await get(hit.id, signal, server);
    if (memory !== null && isWanted(memory, wanted)) return { id: memory.id };
  }
  return null;
}

async function findInList(wanted: Wanted, signal: AbortSignal, server: OpenMemoryServer): Promise<StoredMemory | null> {
  let cursor: string | null = null;
  for (let seen = 0; seen < maxListed; ) {
    const page: MemoryPage = await list(cursor, pageSize, signal, server);
    const found = page.items.find((item) => isWanted(item, wanted));
    if (found !== undefined) return { id: found.id };
    if (page.next === null) return null;
    cursor = page.next;
    seen = Number(cursor);
  }
  return null;
}

interface Candidate {
  readonly content: string;
  readonly space?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** A memory with a key is identified by the key alone; one without by its space and text. */
function isWanted({ content, space, metadata }: Candidate, wanted: Wanted): boolean {
  const key = metadata?.mortise_key;
  if (typeof key === 'string') return key === wanted.memoryKey;
  return space === wanted.space && content === wanted.content;
}
