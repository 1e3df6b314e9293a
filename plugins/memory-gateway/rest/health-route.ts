import { setTimeout as delay } from 'node:timers/promises';
import { type CallContext, callOptions, type Route } from 'mortise/sdk';
import { unknownBackend } from '../backend/unknown-backend.js';
import { failureText } from '../backend-client.js';
import type { GatewayParts } from '../parts.js';

interface Check {
  readonly ok: boolean;
  readonly detail: string;
}

/** Whoever watches asks every few seconds: what has not answered by then is not well. */
const LIMIT_MS = 2_000;

async function checkBackend({ backend, points }: GatewayParts, ctx: CallContext): Promise<Check> {
  const missing = unknownBackend(points, backend.backend);
  if (missing !== undefined) return { ok: false, detail: missing };
  try {
    // What the backend says is of use when this caller has left, too.
    return await backend.health({ ...callOptions(ctx), signal: undefined, timeoutMs: LIMIT_MS });
  } catch (error) {
    return { ok: false, detail: failureText(error) };
  }
}

async function checkOutbox({ logbook }: GatewayParts): Promise<Check> {
  try {
    const { pending, dead } = await logbook.reliability.outbox();
    return { ok: true, detail: `${pending} pending, ${dead} dead` };
  } catch {
    return { ok: false, detail: 'the outbox cannot be read' };
  }
}

/** Without a database that keeps what it is given no memory can be taken. */
async function checkDatabase({ database }: GatewayParts): Promise<Check> {
  const [answers, takesWrites] = await Promise.all([database.ping(LIMIT_MS), database.canWrite(LIMIT_MS)]);
  if (!answers) return { ok: false, detail: 'the database does not answer' };
  if (takesWrites) return { ok: true, detail: 'ready' };
  return { ok: false, detail: 'the database cannot be written; is its disk full?' };
}

/** What has not ended in time goes on unwatched; it ends by itself. */
async function inTime(check: Promise<Check>, detail: string): Promise<Check> {
  const limit = new AbortController();
  const late = delay(LIMIT_MS, { ok: false, detail }, { signal: limit.signal, ref: false });
  try {
    return await Promise.race([check, late]);
  } finally {
    limit.abort();
  }
}

/** Looks at everything the gateway leans on. Only a database that does not answer or cannot be written makes it unhealthy. */
async function deepHealth(parts: GatewayParts, ctx: CallContext) {
  const [database, memory_backend, outbox] = await Promise.all([
    checkDatabase(parts),
    inTime(checkBackend(parts, ctx), 'the memory backend does not answer'),
    inTime(checkOutbox(parts), 'the outbox cannot be read'),
  ]);
  const status = !database.ok ? 'error' : memory_backend.ok && outbox.ok ? 'ok' : 'degraded';
  return { status, checks: { database, memory_backend, outbox } };
}

/** `GET /health`: without `deep=1` it asks neither database nor backend. */
export function healthRoute(parts: GatewayParts): Route {
  return {
    async handle({ query }, ctx) {
      const isDeep = query.get('deep') === '1';
      const { status, checks } = isDeep ? await deepHealth(parts, ctx) : { status: 'ok', checks: undefined };
      return {
        status: status === 'error' ? 503 : 200,
        body: {
          ok: status !== 'error',
          status,
          service: 'memory-gateway',
          version: parts.version,
          correlation_id: ctx.correlationId,
          ...(checks === undefined ? {} : { checks }),
        },
      };
    },
  };
}
