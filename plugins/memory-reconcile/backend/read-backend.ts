import { hash } from 'node:crypto';
import type { MemoryService } from 'mortise/contracts/memory-gateway';
import { type BackendMemory, isCodedError } from 'mortise/sdk';
import type { StoredCopy } from './compare-memory.js';

const PAGE = 500;
const READ_CONCURRENCY = 8;
const READ_MS = 10_000;

function copyOf({ id, content, space, metadata, createdAt }: BackendMemory): StoredCopy {
  const { mortise_key: key, space: tagged } = metadata ?? {};
  return {
    id,
    sha: hash('sha256', content, 'hex'),
    space: typeof tagged === 'string' ? tagged : space,
    memoryKey: typeof key === 'string' ? key : undefined,
    createdAt,
  };
}

/** All memories of the backend by id; undefined when it cannot list. */
export async function listBackend(
  memory: MemoryService,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, StoredCopy> | undefined> {
  const seen = new Map<string, StoredCopy>();
  let cursor: string | null = null;
  try {
    do {
      const page: Awaited<ReturnType<MemoryService['list']>> = await memory.list(cursor, PAGE, {
        signal,
        timeoutMs: READ_MS,
      });
      if (page === undefined) return undefined;
      for (const item of page.items) seen.set(item.id, copyOf(item));
      cursor = page.next;
    } while (cursor !== null);
  } catch (error) {
    if (isCodedError(error) && error.code === 'backend_list_unsupported') return undefined;
    throw error;
  }
  return seen;
}

/** Reads memories by id, one call each. */
export async function readBackend(
  memory: MemoryService,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, StoredCopy>> {
  const seen = new Map<string, StoredCopy>();
  for (let at = 0; at < ids.length; at += READ_CONCURRENCY) {
    signal.throwIfAborted();
    const batch = ids.slice(at, at + READ_CONCURRENCY);
    const found = await Promise.all(batch.map((id) => memory.get(id, { signal, timeoutMs: READ_MS })));
    for (const [index, one] of found.entries()) if (one) seen.set(batch[index] ?? one.id, copyOf(one));
  }
  return seen;
}
