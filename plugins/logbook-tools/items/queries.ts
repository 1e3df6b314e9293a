import type { LogbookPage } from 'mortise/contracts/logbook';
import { MortiseError } from 'mortise/sdk';
import { numberOf, textArgument } from '../content.js';
import type { Args, Result, ToolParts } from '../parts.js';
import type { ToolCode } from '../tool-code.js';
import { argumentError } from '../tool-error.js';

/** `itemId` → `item_id`, `scope` → `scope_json`, as everywhere on the wire. */
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
  query: (args: Args, page: { limit: number; cursor?: string }, parts: ToolParts) => Promise<LogbookPage<object>>,
): ToolCode {
  return {
    kind: 'reads',
    async run(args, _ctx, parts) {
      const cursor = textArgument(args.cursor);
      const page = { limit: numberOf(args.limit) ?? defaultLimit, ...(cursor === undefined ? {} : { cursor }) };
      try {
        const { rows, next } = await query(args, page, parts);
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
    itemType: textArgument(args.item_type),
    status: textArgument(args.status),
    projectKey: textArgument(args.project_key),
    ownerUserId: textArgument(args.owner_user_id),
  }),
);

/** `logbook_query_events` */
export const queryEvents = pagedTool('logbook_query_events', 'events', 100, (args, page, { logbook }) =>
  logbook.events.query({
    ...page,
    itemId: numberOf(args.item_id),
    eventType: textArgument(args.event_type),
    actorUserId: textArgument(args.actor_user_id),
  }),
);

/** `logbook_list_attachments` */
export const listAttachments = pagedTool('logbook_list_attachments', 'attachments', 100, (args, page, { logbook }) =>
  logbook.attachments.query({
    ...page,
    itemId: numberOf(args.item_id),
    kind: textArgument(args.kind),
    sha256: textArgument(args.sha256),
  }),
);
