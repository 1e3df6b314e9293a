import type { LedgerMemory } from 'mortise/contracts/logbook';
import type { MemoryService } from 'mortise/contracts/memory-gateway';
import {
  type CallContext,
  type CallOptions,
  CallView,
  callOptions,
  type MemoryBackend,
  type MemoryBackendContext,
  MortiseError,
  type Points,
  type Transaction,
} from 'mortise/sdk';
import type { CircuitBreaker } from './backend/circuit-breaker.js';
import { deliver, deliverMany, failedBy } from './backend/deliver.js';
import { circuitOpen, failureText, isCircuitOpen, readFailure } from './backend/read-failure.js';

export { failureText } from './backend/read-failure.js';

/** Milliseconds that a backend has for one call, where the caller names no other limit. */
export interface BackendLimits {
  readonly storeMs: number;
  readonly searchMs: number;
}

export interface BackendClientParts {
  readonly points: Points;
  /** Key of the chosen backend. */
  readonly backend: string;
  readonly limits: BackendLimits;
  readonly breaker: CircuitBreaker;
  readonly keepsText: boolean;
  /** Ledger rows by the backend's ids. */
  known(ids: readonly string[]): Promise<readonly LedgerMemory[]>;
}

const HEALTH_MS = 5_000;

/** What the last calls of the backend came to. */
interface Seen {
  okAt: number | null;
  error: string | null;
  /** The last call was refused for its key or address. */
  isRefused: boolean;
}

function heldBack(lastError: string | null): string {
  return `the memory backend answers, but refuses what it is asked${lastError === null ? '' : `: ${lastError}`}`;
}

/** The context of a call of the backend. */
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

/** The facts of the chosen backend while it runs. Every call asks for them, so they are looked up once per change. */
function factsOf(points: Points, backend: string): MemoryService['facts'] {
  const look = () => points.list('memory-backend').find(({ key, active }) => active && key === backend)?.facts;
  let known: { readonly facts: ReturnType<typeof look> } | undefined;
  points.onChange('memory-backend', () => {
    known = undefined;
  });
  return () => {
    known ??= { facts: look() };
    return known.facts;
  };
}

/** The chosen memory backend, wherever it comes from. */
export function createBackendClient(parts: BackendClientParts): MemoryService {
  const { points, backend, limits, breaker } = parts;
  const seen: Seen = { okAt: null, error: null, isRefused: false };

  const facts = factsOf(points, backend);
  // One that writes into the caller's own transaction fails with the database, and is never guarded apart from it.
  const isGuarded = () => facts()?.capabilities.transactional !== true;

  const succeeded = (): void => {
    seen.okAt = Date.now();
    seen.error = null;
    seen.isRefused = false;
  };

  const failed = (error: unknown): void => {
    const trouble = readFailure(error);
    seen.error = trouble.message;
    seen.isRefused = trouble.isMisconfigured;
    if (!isGuarded()) return;
    breaker.record(trouble.class === 'unavailable' ? 'unavailable' : 'other', trouble);
  };

  // Its own health check asks for no key: a backend that passes it may still refuse every memory.
  const holdsBack = () => isGuarded() && (seen.isRefused || breaker.state !== 'closed');

  const send = <R>(ownMs: number, options: Options, use: Use<R>): Promise<R> => {
    const { timeoutMs = ownMs, trx } = options;
    return points.call('memory-backend', backend, (value, ctx) => use(value, new BackendCall(ctx, timeoutMs, trx)), {
      ...callOptions(options),
      timeoutMs,
    });
  };

  const call = async <R>(timeoutMs: number, options: Options, use: Use<R>): Promise<R> => {
    if (isGuarded() && !breaker.allows()) throw circuitOpen(seen.error);
    try {
      const result = await send(timeoutMs, options, use);
      succeeded();
      if (isGuarded()) breaker.record('ok');
      return result;
    } catch (error) {
      // A caller who has gone says nothing about the backend.
      if (options.signal?.aborted !== true) failed(error);
      throw error;
    }
  };

  const client: MemoryService = {
    backend,
    get keepsText() {
      // What is no remote backend, or not known to be one, may have the text nowhere else.
      return parts.keepsText || facts()?.capabilities.transactional !== false;
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
    deliver: (item, options = {}) => deliver(item, options, delivering),
    deliverMany: (items, options = {}) => deliverMany(items, options, delivering),
    failure: failedBy,
    takesMany: () => send(limits.searchMs, {}, async (value) => value.storeMany !== undefined),
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
        breaker.probed(health.ok);
        return holdsBack() && health.ok ? { ok: false, detail: heldBack(seen.error) } : health;
      } catch (error) {
        if (!isCircuitOpen(error)) seen.error = failureText(error);
        breaker.probed(false);
        throw error;
      }
    },
    status: () => ({
      key: backend,
      circuit: breaker.state,
      last_ok_at: seen.okAt === null ? null : new Date(seen.okAt).toISOString(),
      last_error: seen.error,
    }),
    onRecovered: (run) => ({ dispose: breaker.onClosed(run) }),
  };
  const delivering = { backend: client, known: parts.known, timeoutMs: limits.storeMs };
  return client;
}
