import { numberOf, objectOf } from '../content.js';
import type { ToolCode } from '../tool-code.js';
import { toolError } from '../tool-error.js';

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
