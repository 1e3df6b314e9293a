import { type BackendMemory, type MemoryBackendContext, MortiseError } from 'mortise/sdk';
import type { Dialect } from '../dialect/dialect.js';
import { invalidResponse } from '../failure.js';
import { withinBudget } from '../http/budget.js';
import { TOO_LARGE } from '../http/create-client.js';
import { objectOf } from '../json.js';
import type { OpenMemoryParts } from '../parts.js';
import { backendMemory } from './backend-memory.js';

export interface MemoryPage {
  readonly items: readonly BackendMemory[];
  /** Null after the last page. */
  readonly next: string | null;
}

const LARGEST_PAGE = 500;
const CURSOR = /^\d{1,15}$/;

function cannotList(): MortiseError {
  return new MortiseError('backend_list_unsupported', 'This OpenMemory server cannot list its memories.', {
    status: 501,
  });
}

async function requestPage(
  dialect: Dialect,
  limit: number,
  offset: number,
  signal: AbortSignal,
  { client, apiKey }: OpenMemoryParts,
): Promise<readonly unknown[]> {
  if (dialect.listPath === undefined) throw cannotList();
  const { body } = await client.send({
    method: 'GET',
    path: dialect.listPath(limit, offset),
    headers: apiKey ? dialect.authorisation(apiKey) : {},
    effect: 'reads',
    signal,
  });
  const items = objectOf(body).items;
  if (!Array.isArray(items)) throw invalidResponse('it has no items', 'reads');
  return items;
}

function isTooLarge(error: unknown): boolean {
  return error instanceof MortiseError && error.message.endsWith(TOO_LARGE);
}

/** One page, within a call that goes on. Pages whose texts are too long together are asked for in parts. */
export function listWithin(
  cursor: string | null,
  limit: number,
  signal: AbortSignal,
  parts: OpenMemoryParts,
): Promise<MemoryPage> {
  const offset = cursor !== null && CURSOR.test(cursor) ? Number(cursor) : 0;
  return parts.spoken.speak(signal, async (dialect) => {
    for (let size = Math.min(Math.max(limit, 1), LARGEST_PAGE); ; size = Math.ceil(size / 2)) {
      try {
        const items = await requestPage(dialect, size, offset, signal, parts);
        // A server may give fewer than it was asked for: only an empty page is the last one.
        const next = items.length === 0 ? null : String(offset + items.length);
        return { items: items.map(backendMemory).filter((item) => item !== null), next };
      } catch (error) {
        if (size === 1 || !isTooLarge(error)) throw error;
      }
    }
  });
}

/**
 * `GET /memory/all`
 * @throws MortiseError `backend_list_unsupported`, or with the details of a `BackendFailure`.
 */
export function list(
  cursor: string | null,
  limit: number,
  ctx: MemoryBackendContext,
  parts: OpenMemoryParts,
): Promise<MemoryPage> {
  return withinBudget(ctx, (signal) => listWithin(cursor, limit, signal, parts));
}
