import type { LogbookPage } from 'mortise/contracts/logbook';
import { argumentError, MortiseError } from 'mortise/sdk';
import { numberOf, objectOf, textOf } from './content.js';
import type { Args, Result, ToolCode, ToolDeps } from './run-tool.js';
import { toolError } from './tool-error.js';

/** `logbook_create_item` */
export const createItem: ToolCode = {
  kind: 'changes',
  target: (_args, result) => (result === undefined ? 'item' : `item:${String(result.item_id)}`),
  async record(args, _prepared, { logbook, database }, trx) {
    const status = textOf(args.status);
    const add = (savepoint: typeof trx) =>
      logbook.items.add(
        {
          itemType: String(args.item_type),
          title: String(args.title),
          ...(status === undefined ? {} : { status }),
          ownerUserId: textOf(args.owner_user_id) ?? null,
          scope: objectOf(args.scope_json),
          projectKey: textOf(args.project_key) ?? null,
        },
        { trx: savepoint },
      );
    try {
      // In a savepoint: an owner that does not exist aborts the transaction it is inserted in.
      const { itemId, itemType, title, status: now } = await database.transaction(add, { trx });
      return { item_id: itemId, item_type: itemType, title, status: now };
    } catch (error) {
      if (database.codec.errorKind(error) === 'foreign-key') throw toolError('NOT_FOUND', { what: 'user' });
      throw error;
    }
  },
};

/** `logbook_add_event` */
export const addEvent: ToolCode = {
  kind: 'changes',
  target: ({ item_id }) => `item:${String(item_id)}`,
  async record(args, _prepared, { logbook }, trx) {
    const source = textOf(args.source);
    const event = await logbook.events.add(
      {
        itemId: Number(args.item_id),
        eventType: String(args.event_type),
        payload: objectOf(args.payload_json),
        statusFrom: textOf(args.status_from) ?? null,
        statusTo: textOf(args.status_to) ?? null,
        actorUserId: textOf(args.actor_user_id) ?? null,
        ...(source === undefined ? {} : { source }),
      },
      { trx },
    );
    if (event === null) throw toolError('NOT_FOUND', { what: 'item' });
    const { eventId, itemId, eventType, statusTo } = event;
    return { event_id: eventId, item_id: itemId, event_type: eventType, status_to: statusTo };
  },
};

/** `logbook_attach` */
export const attach: ToolCode = {
  kind: 'changes',
  target: ({ item_id }) => `item:${String(item_id)}`,
  async record(args, _prepared, { logbook }, trx) {
    const attached = await logbook.attachments.attach(
      {
        itemId: Number(args.item_id),
        kind: String(args.kind),
        uri: String(args.uri),
        sha256: String(args.sha256),
        sizeBytes: numberOf(args.size_bytes) ?? null,
        meta: objectOf(args.meta_json),
      },
      { trx },
    );
    if (attached === null) throw toolError('NOT_FOUND', { what: 'item' });
    const { attachmentId, itemId, kind, uri, sha256 } = attached.attachment;
    return { attachment_id: attachmentId, item_id: itemId, kind, uri, sha256 };
  },
};

/** `logbook_set_kv` */
export const setValue: ToolCode = {
  kind: 'changes',
  target: ({ namespace, key }) => `kv:${String(namespace)}/${String(key)}`,
  async record({ namespace, key, value_json }, _prepared, { logbook }, trx) {
    await logbook.kv.set(String(namespace), String(key), value_json, { trx });
    return { namespace, key };
  },
};

/** `logbook_get_kv` */
export const getValue: ToolCode = {
  kind: 'reads',
  async run({ namespace, key }, _ctx, { logbook }) {
    const value = await logbook.kv.get(String(namespace), String(key));
    return { namespace, key, value_json: value ?? null, found: value !== undefined };
  },
};

/** The wire form of a row: `itemId` → `item_id`, `scope` → `scope_json`. */
function wireOf(row: object): Result {
  const members = Object.entries(row).map(([name, value]) => {
    const wire = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return [['scope', 'payload', 'meta'].includes(wire) ? `${wire}_json` : wire, value];
  });
  return Object.fromEntries(members);
}

function pagedTool(
  tool: string,
  name: string,
  defaultLimit: number,
  query: (args: Args, page: { limit: number; cursor?: string }, deps: ToolDeps) => Promise<LogbookPage<object>>,
): ToolCode {
  return {
    kind: 'reads',
    async run(args, _ctx, deps) {
      const cursor = textOf(args.cursor);
      const page = { limit: numberOf(args.limit) ?? defaultLimit, ...(cursor === undefined ? {} : { cursor }) };
      try {
        const { rows, next } = await query(args, page, deps);
        return { [name]: rows.map(wireOf), count: rows.length, next_cursor: next };
      } catch (error) {
        if (!(error instanceof MortiseError) || error.code !== 'invalid_cursor') throw error;
        throw argumentError(tool, '/cursor', 'must be the next_cursor of a page');
      }
    },
  };
}

/** `logbook_query_items` */
export const queryItems = pagedTool('logbook_query_items', 'items', 50, (args, page, { logbook }) =>
  logbook.items.query({
    ...page,
    itemType: textOf(args.item_type),
    status: textOf(args.status),
    projectKey: textOf(args.project_key),
    ownerUserId: textOf(args.owner_user_id),
  }),
);

/** `logbook_query_events` */
export const queryEvents = pagedTool('logbook_query_events', 'events', 100, (args, page, { logbook }) =>
  logbook.events.query({
    ...page,
    itemId: numberOf(args.item_id),
    eventType: textOf(args.event_type),
    actorUserId: textOf(args.actor_user_id),
  }),
);

/** `logbook_list_attachments` */
export const listAttachments = pagedTool('logbook_list_attachments', 'attachments', 100, (args, page, { logbook }) =>
  logbook.attachments.query({
    ...page,
    itemId: numberOf(args.item_id),
    kind: textOf(args.kind),
    sha256: textOf(args.sha256),
  }),
);
