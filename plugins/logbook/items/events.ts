import type { Events, LogbookEvent, NewEvent } from 'mortise/contracts/logbook';
import type { Database, Transaction } from 'mortise/sdk';
import { type PagedTable, readPage } from './read-page.js';

interface EventColumns {
  readonly event_id: number;
  readonly item_id: number;
  readonly event_type: string;
  readonly status_from: string | null;
  readonly status_to: string | null;
  readonly payload_json: string;
  readonly actor_user_id: string | null;
  readonly source: string;
  readonly created_at: string;
}

const columns = [
  'event_id',
  'item_id',
  'event_type',
  'status_from',
  'status_to',
  'payload_json',
  'actor_user_id',
  'source',
  'created_at',
];

/** What happened to items: `logbook.events`. */
export function createEvents(database: Database): Events {
  const { codec } = database;
  const rowOf = (row: EventColumns): LogbookEvent => ({
    eventId: row.event_id,
    itemId: row.item_id,
    eventType: row.event_type,
    statusFrom: row.status_from,
    statusTo: row.status_to,
    payload: codec.parseJson<Record<string, unknown> | null>(row.payload_json) ?? {},
    actorUserId: row.actor_user_id,
    source: row.source,
    createdAt: codec.parseTime(row.created_at) ?? '',
  });
  const table: PagedTable<EventColumns, LogbookEvent> = { table: 'logbook.events', columns, key: 'event_id', rowOf };

  /** Updates the item, which shows whether it exists and locks it until the commit. */
  const touch = async (itemId: number, status: string | null, trx: Transaction): Promise<boolean> => {
    const changes = await database
      .query({ trx })(database.table('logbook.items'))
      .where({ item_id: itemId })
      .update({ ...(status !== null && { status }), updated_at: codec.time(Date.now()) });
    return changes > 0;
  };

  const insert = async (event: NewEvent, trx: Transaction): Promise<LogbookEvent | null> => {
    if (!(await touch(event.itemId, event.statusTo ?? null, trx))) return null;
    const [row] = await database
      .query({ trx })(database.table('logbook.events'))
      .insert({
        item_id: event.itemId,
        event_type: event.eventType,
        status_from: event.statusFrom ?? null,
        status_to: event.statusTo ?? null,
        payload_json: codec.json(event.payload ?? {}),
        actor_user_id: event.actorUserId ?? null,
        source: event.source ?? 'tool',
      })
      .returning(columns);
    return rowOf(row);
  };

  return {
    add: (event, options) => database.transaction((trx) => insert(event, trx), options),
    query({ itemId, eventType, actorUserId, ...page }, options) {
      const wanted = { item_id: itemId, event_type: eventType, actor_user_id: actorUserId };
      return readPage(database, table, wanted, page, options);
    },
  };
}
