import {
  type CallOptions,
  extendContext,
  isCodedError,
  type MemoryBackend,
  type MemoryBackendContext,
  type MemoryService,
  MortiseError,
  type Points,
  type Transaction,
} from 'mortise/sdk';

/** Milliseconds that a backend has for one call, where the caller names no other limit. */
export interface BackendLimits {
  readonly storeMs: number;
  readonly searchMs: number;
}

const HEALTH_MS = 5_000;

/** What the last calls of the backend came to. */
interface Seen {
  okAt: number | null;
  error: string | null;
}

/** A sentence about a failure that names no address, key or content. */
export function failureText(error: unknown): string {
  return isCodedError(error) ? error.message : 'the memory backend failed unexpectedly';
}

/** The chosen memory backend, wherever it comes from. */
export function createBackendClient(points: Points, backend: string, limits: BackendLimits): MemoryService {
  const seen: Seen = { okAt: null, error: null };

  const call = async <R>(
    timeoutMs: number,
    options: CallOptions & { readonly trx?: Transaction | undefined },
    run: (backend: MemoryBackend, ctx: MemoryBackendContext) => Promise<R>,
  ): Promise<R> => {
    const { trx, ...rest } = options;
    const limit = rest.timeoutMs ?? timeoutMs;
    try {
      const result = await points.call(
        'memory-backend',
        backend,
        (value, ctx) => run(value, extendContext(ctx, { timeoutMs: limit, ...(trx === undefined ? {} : { trx }) })),
        { ...rest, timeoutMs: limit },
      );
      seen.okAt = Date.now();
      seen.error = null;
      return result;
    } catch (error) {
      seen.error = failureText(error);
      throw error;
    }
  };

  const facts = () => points.list('memory-backend').find(({ key, active }) => active && key === backend)?.facts;

  return {
    backend,
    facts,
    store: (item, options) => call(limits.storeMs, options, (value, ctx) => value.store(item, ctx)),
    storeMany: (items, options) =>
      call(limits.storeMs, options, async (value, ctx) => {
        if (ctx.trx !== undefined && !value.capabilities.transactional) {
          throw new MortiseError('backend_not_transactional', `Backend ${backend} cannot store inside a transaction.`);
        }
        if (value.storeMany !== undefined) return value.storeMany(items, ctx);
        const stored = [];
        for (const item of items) stored.push(await value.store(item, ctx));
        return stored;
      }),
    search: (search, options) =>
      call(limits.searchMs, options, async (value, ctx) => {
        const { hits, unknownFilters } = await value.search(search, ctx);
        return { hits, unknownFilters: unknownFilters ?? [] };
      }),
    health: (options) => call(HEALTH_MS, options, (value, ctx) => value.health(ctx)),
    status: () => ({
      key: backend,
      circuit: 'closed',
      last_ok_at: seen.okAt === null ? null : new Date(seen.okAt).toISOString(),
      last_error: seen.error,
    }),
  };
}
