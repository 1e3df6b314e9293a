import { objectOf, textArgument } from '../content.js';
import type { ToolCode } from '../tool-code.js';
import { toolError } from '../tool-error.js';

/** `logbook_create_item` */
export const createItem: ToolCode = {
  kind: 'changes',
  target: (_args, result) => (result === undefined ? 'item' : `item:${String(result.item_id)}`),
  async record(args, _prepared, { logbook, database }, trx) {
    const status = textArgument(args.status);
    const adding = (point: typeof trx) =>
      logbook.items.add(
        {
          itemType: String(args.item_type),
          title: String(args.title),
          ...(status === undefined ? {} : { status }),
          ownerUserId: textArgument(args.owner_user_id) ?? null,
          scope: objectOf(args.scope_json),
          projectKey: textArgument(args.project_key) ?? null,
        },
        { trx: point },
      );
    try {
      // In a savepoint: an owner that does not exist spoils the transaction it is tried in.
      const { itemId, itemType, title, status: now } = await database.transaction(adding, { trx });
      return { item_id: itemId, item_type: itemType, title, status: now };
    } catch (error) {
      if (database.codec.errorKind(error) === 'foreign-key') throw toolError('NOT_FOUND', { what: 'user' });
      throw error;
    }
  },
};
