import type { OutboxQuery, OutboxStatus } from 'mortise/contracts/logbook';
import { MortiseError, type Route } from 'mortise/sdk';
import type { OutboxDeps } from '../outbox-deps.js';
import { retryDeadRow, wireRow } from '../rows.js';

/** Maps an unreachable database to a retryable 503. */
function unavailable(error: unknown, { database }: OutboxDeps): unknown {
  if (error instanceof MortiseError || database.codec.errorKind(error) !== 'unavailable') return error;
  return new MortiseError('LOGBOOK_DB_UNAVAILABLE', 'The database cannot be reached.', {
    status: 503,
    retryable: true,
    retryAfterSeconds: 2,
    cause: error,
  });
}

function readQuery(query: URLSearchParams): OutboxQuery {
  const given = (name: string) => query.get(name) || undefined;
  const limit = given('limit');
  return {
    // Validated where the rows are read.
    status: given('status') as OutboxStatus | undefined,
    space: given('space'),
    since: given('since'),
    limit: limit === undefined ? undefined : Number(limit),
    cursor: given('cursor'),
  };
}

/** `GET /memory/outbox`: newest first. */
export function listRoute(deps: OutboxDeps): Route {
  return {
    async handle({ query }, ctx) {
      try {
        const { rows, next } = await deps.logbook.outbox.list(readQuery(query));
        return {
          body: {
            ok: true,
            rows: rows.map(wireRow),
            count: rows.length,
            next_cursor: next,
            correlation_id: ctx.correlationId,
          },
        };
      } catch (error) {
        throw unavailable(error, deps);
      }
    },
  };
}

const OUTBOX_ID = /^\d{1,15}$/;

/** `POST /memory/outbox/{id}/retry`: 404 for an unknown row, 409 for one that is not dead. */
export function retryRoute(deps: OutboxDeps): Route {
  return {
    async handle({ params }, ctx) {
      const id = params.id ?? '';
      if (!OUTBOX_ID.test(id)) {
        throw new MortiseError('outbox_row_not_found', 'An outbox id is a whole number.', { status: 404 });
      }
      try {
        const row = await retryDeadRow(Number(id), ctx, deps);
        return { body: { ok: true, outbox_id: row.outboxId, status: row.status, correlation_id: ctx.correlationId } };
      } catch (error) {
        throw unavailable(error, deps);
      }
    },
  };
}
