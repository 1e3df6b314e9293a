import {
  type Alert,
  type GuardedFetch,
  isCodedError,
  type MemoryBackend,
  type MemoryBackendContext,
  type MemoryBackendFacts,
  type MemoryItem,
  type StoredMemory,
} from 'mortise/sdk';
import { withinBudget } from './client.js';
import type { Config } from './config.generated.js';
import { queryDialect, searchDialect } from './dialects.js';
import { contentTooLong, invalidResponse, isMisconfigured, reportedFailure } from './failure.js';
import { find } from './find.js';
import { objectOf } from './memory-format.js';
import { get, list, search } from './read.js';
import { createServer, type OpenMemoryServer } from './server.js';

/** The backend `openmemory`. It connects with the first call. */
export function createBackend(
  facts: MemoryBackendFacts,
  config: Config,
  fetch: GuardedFetch,
  raise: (alert: Alert) => void,
): MemoryBackend {
  const server = createServer(fetch, config);
  const limit = facts.limits?.maxContentChars ?? Number.POSITIVE_INFINITY;
  const canList = config.dialect !== 'search';
  let isAlerted = false;

  /** Runs a call within its time limit. A misconfiguration raises one alert, until a call succeeds. */
  const run = async <R>(ctx: MemoryBackendContext, call: (signal: AbortSignal) => Promise<R>): Promise<R> => {
    try {
      const result = await withinBudget(ctx, call);
      isAlerted = false;
      return result;
    } catch (error) {
      if (!isAlerted && isMisconfigured(error) && isCodedError(error)) {
        isAlerted = true;
        raise({
          source: 'plugin:memory-backend-openmemory',
          severity: 'high',
          code: 'memory_backend.misconfigured',
          message: `${error.message}. Memories wait until OPENMEMORY_BASE_URL, OPENMEMORY_API_KEY or MORTISE_OPENMEMORY_DIALECT is corrected.`,
        });
      }
      throw error;
    }
  };

  return {
    ...facts,
    capabilities: { ...facts.capabilities, list: canList },
    async store(item, ctx) {
      if (isLonger(item.content, limit)) throw contentTooLong(limit);
      return run(ctx, (signal) => store(item, signal, server));
    },
    search: (wanted, ctx) => run(ctx, (signal) => search(wanted, signal, server)),
    get: (id, ctx) => run(ctx, (signal) => get(id, signal, server)),
    find: (wanted, ctx) => run(ctx, (signal) => find(wanted, signal, server)),
    health: (ctx) => health(ctx, server, config.dialect),
    ...(canList && { list: (cursor, size, ctx) => run(ctx, (signal) => list(cursor, size, signal, server)) }),
  };
}

/** Whether a text has more than `limit` characters. */
function isLonger(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  let characters = 0;
  for (const _ of text) characters += 1;
  return characters > limit;
}

/** `POST /memory/add` @throws MortiseError with the details of a `BackendFailure`. */
function store(item: MemoryItem, signal: AbortSignal, { client, inDialect }: OpenMemoryServer): Promise<StoredMemory> {
  return inDialect(signal, async (dialect, headers) => {
    const { body } = await client.send({
      method: 'POST',
      path: '/memory/add',
      headers: { ...headers, 'idempotency-key': item.memoryKey },
      body: dialect.storeBody(item),
      effect: 'writes',
      signal,
    });
    const response = objectOf(body);
    if (response.success === false) throw reportedFailure();
    const { id, deduplicated } = dialect.stored(response);
    if (id === undefined) throw invalidResponse('no id', 'writes');
    return deduplicated ? { id, deduplicated } : { id };
  });
}

const maxHealthMs = 5_000;

/** `GET /health`. Never rejects: a failure is the result. */
async function health(
  ctx: MemoryBackendContext,
  { client, probeHeaders }: OpenMemoryServer,
  configured: Config['dialect'],
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const timeoutMs = ctx.timeoutMs > 0 ? Math.min(ctx.timeoutMs, maxHealthMs) : maxHealthMs;
  try {
    const { body } = await withinBudget({ signal: ctx.signal, timeoutMs }, (signal) =>
      client.send({ method: 'GET', path: '/health', headers: probeHeaders, effect: 'reads', signal }),
    );
    const ok = [searchDialect, queryDialect].some(
      (dialect) => (configured === 'auto' || configured === dialect.name) && dialect.isHealthy(objectOf(body)),
    );
    return { ok, detail: ok ? 'ready' : 'OpenMemory did not report that it is healthy' };
  } catch (error) {
    return { ok: false, detail: isCodedError(error) ? error.message : 'OpenMemory could not be reached' };
  }
}
