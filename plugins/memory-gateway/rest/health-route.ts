import type { CallContext, Route } from 'mortise/sdk';
import { failureText } from '../backend-client.js';
import type { GatewayParts } from '../parts.js';

interface Check {
  readonly ok: boolean;
  readonly detail: string;
}

const DATABASE_MS = 2_000;

async function checkBackend({ backend }: GatewayParts, ctx: CallContext): Promise<Check> {
  try {
    return await backend.health(ctx);
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

/** Looks at everything the gateway leans on. Only a database that does not answer makes it unhealthy. */
async function deepHealth(parts: GatewayParts, ctx: CallContext) {
  const isDatabaseUp = await parts.database.ping(DATABASE_MS);
  const database = { ok: isDatabaseUp, detail: isDatabaseUp ? 'ready' : 'the database does not answer' };
  const memory_backend = await checkBackend(parts, ctx);
  const outbox = isDatabaseUp ? await checkOutbox(parts) : { ok: false, detail: 'the outbox cannot be read' };
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
