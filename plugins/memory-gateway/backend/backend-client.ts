import type { LedgerMemory } from 'mortise/contracts/logbook';
import type { MemoryService, OutboxDelivery } from 'mortise/contracts/memory-gateway';
import {
  type CallContext,
  type CallOptions,
  CallView,
  callOptions,
  createContributionCache,
  type Logger,
  type MemoryBackend,
  type MemoryBackendContext,
  MortiseError,
  type Points,
  type Transaction,
} from 'mortise/sdk';
import type { CircuitBreaker } from './circuit-breaker.js';
import { deliver, deliverMany, failedDelivery } from './deliver.js';
import { circuitOpen, failureText, isCircuitOpen, readFailure } from './read-failure.js';

interface BackendClientDeps {
  readonly points: Points;
  /** Key of the chosen backend. */
  readonly backend: string;
  /** Milliseconds for one call, unless the caller sets another limit. */
  readonly limits: { readonly storeMs: number; readonly searchMs: number };
  readonly breaker: CircuitBreaker;
  /** The configuration keeps the text of stored memories. */
  readonly keepsText: boolean;
  /** Ledger rows by the backend's ids. */
  ledgerRows(ids: readonly string[]): Promise<readonly LedgerMemory[]>;
}

const HEALTH_MS = 5_000;

/** The context of a backend call. */
class BackendCall extends CallView implements MemoryBackendContext {
  readonly timeoutMs: number;
  declare readonly trx?: Transaction;

  constructor(call: CallContext, timeoutMs: number, trx: Transaction | undefined) {
    super(call);
    this.timeoutMs = timeoutMs;
    if (trx !== undefined) this.trx = trx;
  }
}

type Options = CallOptions & { readonly trx?: Transaction | undefined };
type Use<R> = (backend: MemoryBackend, ctx: MemoryBackendContext) => Promise<R>;

/** The service `memory`: calls the chosen backend through the circuit breaker. */
export function createBackendClient(deps: BackendClientDeps): MemoryService {
  const { points, backend, limits, breaker } = deps;
  let outboxDelivery: OutboxDelivery = 'none';
  /** Results of the latest calls. `isRefused`: the last one failed because of the key or the address. */
  const last: { okAt: number | null; error: string | null; isRefused: boolean } = {
    okAt: null,
    error: null,
    isRefused: false,
  };

  const chosen = createContributionCache(points, 'memory-backend', (contributions) =>
    contributions.find(({ key, active }) => active && key === backend),
  );
  const facts = () => chosen.current?.facts;
  // A backend that writes in the caller's transaction fails together with the database: the breaker does not apply.
  const isGuarded = () => facts()?.capabilities.transactional !== true;

  const recordSuccess = (): void => {
    last.okAt = Date.now();
    last.error = null;
    last.isRefused = false;
    if (isGuarded()) breaker.record('ok');
  };

  const recordFailure = (error: unknown): void => {
    const failure = readFailure(error);
    last.error = failure.message;
    last.isRefused = failure.isMisconfigured;
    if (isGuarded()) breaker.record(failure.class === 'unavailable' ? 'unavailable' : 'other', failure);
  };

  const send = <R>(defaultMs: number, options: Options, use: Use<R>): Promise<R> => {
    const { timeoutMs = defaultMs, trx } = options;
    return points.call('memory-backend', backend, (value, ctx) => use(value, new BackendCall(ctx, timeoutMs, trx)), {
      ...callOptions(options),
      timeoutMs,
    });
  };

  const call = async <R>(timeoutMs: number, options: Options, use: Use<R>): Promise<R> => {
    if (isGuarded() && !breaker.allows()) throw circuitOpen(last.error);
    try {
      const result = await send(timeoutMs, options, use);
      recordSuccess();
      return result;
    } catch (error) {
      // A call that its caller aborted is no failure of the backend.
      if (options.signal?.aborted !== true) recordFailure(error);
      throw error;
    }
  };

  const client: MemoryService = {
    backend,
    get keepsText() {
      // Unless the backend is known to be remote, the ledger may have the only copy of the text.
      return deps.keepsText || facts()?.capabilities.transactional !== false;
    },
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
    deliver: (item, options = {}) => deliver(item, options, delivery),
    deliverMany: (items, options = {}) => deliverMany(items, options, delivery),
    failure: failedDelivery,
    storesMany: () => send(limits.searchMs, {}, async (value) => value.storeMany !== undefined),
    search: (search, options) =>
      call(limits.searchMs, options, async (value, ctx) => {
        const { hits, unknownFilters } = await value.search(search, ctx);
        return { hits, unknownFilters: unknownFilters ?? [] };
      }),
    find: (wanted, options = {}) => call(limits.searchMs, options, async (value, ctx) => value.find?.(wanted, ctx)),
    get: (id, options = {}) => call(limits.searchMs, options, async (value, ctx) => value.get?.(id, ctx)),
    list: (cursor, limit, options = {}) =>
      call(limits.searchMs, options, async (value, ctx) => value.list?.(cursor, limit, ctx)),
    async health(options) {
      try {
        const health = await send(HEALTH_MS, options, (value, ctx) => value.health(ctx));
        breaker.recordProbe(health.ok);
        // A health check needs no key: a backend that passes it may still refuse every memory.
        const isBlocked = isGuarded() && (last.isRefused || breaker.state !== 'closed');
        if (!health.ok || !isBlocked) return health;
        const why = last.error === null ? '' : `: ${last.error}`;
        return { ok: false, detail: `the memory backend is reachable but rejects requests${why}` };
      } catch (error) {
        if (!isCircuitOpen(error)) last.error = failureText(error);
        breaker.recordProbe(false);
        throw error;
      }
    },
    status: () => ({
      key: backend,
      circuit: breaker.state,
      last_ok_at: last.okAt === null ? null : new Date(last.okAt).toISOString(),
      last_error: last.error,
    }),
    onRecovered: (run) => ({ dispose: breaker.onClosed(run) }),
    get outboxDelivery() {
      return outboxDelivery;
    },
    announceDelivery(delivery) {
      outboxDelivery = delivery;
      return {
        dispose: () => {
          outboxDelivery = 'none';
        },
      };
    },
  };
  const delivery = { backend: client, ledgerRows: deps.ledgerRows, timeoutMs: limits.storeMs };
  return client;
}

/** A message when no plugin contributes the chosen backend; undefined when one does. */
export function missingBackend(points: Points, backend: string): string | undefined {
  const known = points.list('memory-backend').map(({ key }) => key);
  if (known.includes(backend)) return undefined;
  const others = known.length === 0 ? 'none is known' : `known: ${[...new Set(known)].sort().join(', ')}`;
  return `There is no memory backend "${backend}" (MORTISE_MEMORY_BACKEND); ${others}. Memories wait in the outbox.`;
}

/** Logs a warning while the chosen backend does not exist, and an info line when it becomes available. */
export function warnOfMissingBackend(
  { points, log }: { readonly points: Points; readonly log: Logger },
  backend: string,
): void {
  let logged: string | undefined;
  const check = (): void => {
    const missing = missingBackend(points, backend);
    if (missing !== undefined && missing !== logged) log.warn({ backend }, missing);
    if (missing === undefined && logged !== undefined)
      log.info({ backend }, `The memory backend "${backend}" is available.`);
    logged = missing;
  };
  points.onChange('memory-backend', check);
  check();
}

/** Checks the health of a backend whose circuit is not closed, which closes it once the backend answers again. */
export async function probeBackend(
  { backend, log }: { readonly backend: MemoryService; readonly log: Logger },
  signal: AbortSignal,
): Promise<void> {
  if (backend.status().circuit === 'closed') return;
  try {
    await backend.health({ signal });
  } catch (error) {
    log.debug({ err: error, backend: backend.backend }, 'The memory backend does not answer yet.');
  }
}
