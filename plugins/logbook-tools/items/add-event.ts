import { objectOf, textArgument } from '../content.js';
import type { ToolCode } from '../tool-code.js';
import { toolError } from '../tool-error.js';

/** `logbook_add_event` */
export const addEvent: ToolCode = {
  kind: 'changes',
  target: ({ item_id }) => `item:${String(item_id)}`,
  async record(args, _prepared, { logbook }, trx) {
    const source = textArgument(args.source);
    const event = await logbook.events.add(
      {
        itemId: Number(args.item_id),
        eventType: String(args.event_type),
        payload: objectOf(args.payload_json),
        statusFrom: textArgument(args.status_from) ?? null,
        statusTo: textArgument(args.status_to) ?? null,
        actorUserId: textArgument(args.actor_user_id) ?? null,
        ...(source === undefined ? {} : { source }),
      },
      { trx },
    );
    if (event === null) throw toolError('NOT_FOUND', { what: 'item' });
    const { eventId, itemId, eventType, statusTo } = event;
    return { event_id: eventId, item_id: itemId, event_type: eventType, status_to: statusTo };
  },
};
