import type { Attachment, Attachments, NewAttachment } from 'mortise/contracts/logbook';
import type { Database, Transaction, TransactionOption } from 'mortise/sdk';
import { type PagedTable, readPage } from './read-page.js';

interface AttachmentColumns {
  readonly attachment_id: number;
  readonly item_id: number;
  readonly kind: string;
  readonly uri: string;
  readonly sha256: string;
  readonly size_bytes: number | null;
  readonly meta_json: string;
  readonly created_at: string;
}

const columns = ['attachment_id', 'item_id', 'kind', 'uri', 'sha256', 'size_bytes', 'meta_json', 'created_at'];

/** The files of items: `logbook.attachments`. */
export function createAttachments(database: Database): Attachments {
  const { codec } = database;
  const rowOf = (row: AttachmentColumns): Attachment => ({
    attachmentId: row.attachment_id,
    itemId: row.item_id,
    kind: row.kind,
    uri: row.uri,
    sha256: row.sha256,
    sizeBytes: row.size_bytes,
    meta: codec.parseJson<Record<string, unknown> | null>(row.meta_json) ?? {},
    createdAt: codec.parseTime(row.created_at) ?? '',
  });
  const attachments = (options?: TransactionOption) => database.query(options)(database.table('logbook.attachments'));
  const paged: PagedTable<AttachmentColumns, Attachment> = {
    table: 'logbook.attachments',
    columns,
    key: 'attachment_id',
    rowOf,
  };

  const insert = async (given: NewAttachment, sha256: string, trx: Transaction): Promise<Attachment | undefined> => {
    const rows: readonly AttachmentColumns[] = await attachments({ trx })
      .insert({
        item_id: given.itemId,
        kind: given.kind,
        uri: given.uri,
        sha256,
        size_bytes: given.sizeBytes ?? null,
        meta_json: codec.json(given.meta ?? {}),
      })
      .onConflict(['item_id', 'kind', 'sha256'])
      .ignore()
      .returning(columns);
    return rows[0] && rowOf(rows[0]);
  };

  const attach = async (given: NewAttachment, trx: Transaction) => {
    const item: unknown = await database
      .query({ trx })(database.table('logbook.items'))
      .where({ item_id: given.itemId })
      // Locks the item against deletion until the commit.
      .forKeyShare()
      .first('item_id');
    if (item === undefined) return null;
    const sha256 = given.sha256.toLowerCase();
    const created = await insert(given, sha256, trx);
    if (created !== undefined) return { attachment: created, created: true };
    const existing: AttachmentColumns = await attachments({ trx })
      .where({ item_id: given.itemId, kind: given.kind, sha256 })
      .first(columns);
    return { attachment: rowOf(existing), created: false };
  };

  return {
    attach: (given, options) => database.transaction((trx) => attach(given, trx), options),
    async get(attachmentId, options) {
      // PostgreSQL rejects numbers outside bigint.
      if (!Number.isSafeInteger(attachmentId)) return null;
      const row: AttachmentColumns | undefined = await attachments(options)
        .where({ attachment_id: attachmentId })
        .first(columns);
      return row === undefined ? null : rowOf(row);
    },
    query({ itemId, kind, sha256, ...page }, options) {
      return readPage(database, paged, { item_id: itemId, kind, sha256: sha256?.toLowerCase() }, page, options);
    },
  };
}
