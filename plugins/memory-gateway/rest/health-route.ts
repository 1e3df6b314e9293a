import { setTimeout as delay } from 'node:timers/promises';
import { type CallOptions, callOptions, type PluginHealth, type Route } from 'mortise/sdk';
import { missingBackend } from '../backend/backend-client.js';
import { failureText } from '../backend/read-failure.js';
import type { Gateway } from '../gateway.js';

interface Check {
  readonly ok: boolean;
  readonly detail: string;
}

/** Milliseconds for all checks. Monitoring polls every few seconds, so a slower dependency counts as unhealthy. */
const LIMIT_MS = 2_000;

async function checkBackend({ backend, points }: Gateway, options: CallOptions): Promise<Check> {
  const missing = missingBackend(points, backend.backend);
  if (missing !== undefined) return { ok: false, detail: missing };
  try {
    // Without the caller's signal: the result updates the circuit breaker even if the caller has disconnected.
    return await backend.health({ ...options, signal: undefined, timeoutMs: LIMIT_MS });
  } catch (error) {
    return { ok: false, detail: failureText(error) };
  }
}

async function checkOutbox({ logbook, backend, points }: Gateway): Promise<Check> {
  try {
    const { pending, dead } = await logbook.reliability.outbox();
    const detail = `${pending} pending, ${dead} dead`;
    if (backend.outboxDelivery !== 'none') return { ok: true, detail };
    const isExpected = points.list('command').some(({ key }) => key === 'memory-outbox-worker');
    if (!isExpected && pending === 0) return { ok: true, detail };
    return { ok: false, detail: `${detail}; the plugin memory-outbox is not active, so nothing is delivered` };
  } catch {
    return { ok: false, detail: 'the outbox cannot be read' };
  }
}

/** No memory can be accepted while the database is down or cannot be written. */
async function checkDatabase({ database }: Gateway): Promise<Check> {
  const [answers, isWritable] = await Promise.all([database.ping(LIMIT_MS), database.canWrite(LIMIT_MS)]);
  if (!answers) return { ok: false, detail: 'the database does not answer' };
  if (isWritable) return { ok: true, detail: 'ready' };
  return { ok: false, detail: 'the database cannot be written; is its disk full?' };
}

/** The result of a check, or a failure after the time limit. A late check is not cancelled. */
async function withinLimit(check: Promise<Check>, detail: string): Promise<Check> {
  const limit = new AbortController();
  const late = delay(LIMIT_MS, { ok: false, detail }, { signal: limit.signal, ref: false });
  try {
    return await Promise.race([check, late]);
  } finally {
    limit.abort();
  }
}

/** Checks all dependencies. Only a database that does not answer or cannot be written makes the gateway unhealthy. */
async function deepHealth(gateway: Gateway, options: CallOptions) {
  const [database, memory_backend, outbox] = await Promise.all([
    checkDatabase(gateway),
    withinLimit(checkBackend(gateway, options), 'the memory backend does not answer'),
    withinLimit(checkOutbox(gateway), 'the outbox cannot be read'),
  ]);
  const status = !database.ok ? 'error' : memory_backend.ok && outbox.ok ? 'ok' : 'degraded';
  return { status, checks: { database, memory_backend, outbox } };
}

const backendHint =
  'Start the backend, correct its address (mortise config), or enable the plugin of the backend that MORTISE_MEMORY_BACKEND names.';

/** The health of the plugin. The platform itself reports an unreachable database and a plugin that cannot run. */
export async function pluginHealth(gateway: Gateway, options: CallOptions): Promise<PluginHealth> {
  const { database, memory_backend, outbox } = (await deepHealth(gateway, options)).checks;
  if (!database.ok) return { ok: true };
  if (!memory_backend.ok) return { ok: false, detail: memory_backend.detail, hint: backendHint };
  if (outbox.ok || outbox.detail.startsWith('0 pending')) return { ok: true };
  return { ok: false, detail: outbox.detail, hint: 'mortise plugin enable memory-outbox' };
}

/** `GET /health`: without `deep=1` it accesses neither database nor backend, and is not rate limited. */
export function healthRoute(gateway: Gateway): Route {
  return {
    async handle({ query }, ctx) {
      const isDeep = query.get('deep') === '1';
      if (isDeep) ctx.limitRate();
      const { status, checks } = isDeep
        ? await deepHealth(gateway, callOptions(ctx))
        : { status: 'ok', checks: undefined };
      return {
        status: status === 'error' ? 503 : 200,
        body: {
          ok: status !== 'error',
          status,
          service: 'memory-gateway',
          version: gateway.version,
          correlation_id: ctx.correlationId,
          ...(checks === undefined ? {} : { checks }),
        },
      };
    },
  };
}
