import type { Attachment, Attachments, NewAttachment } from 'mortise/contracts/logbook';
import type { Database, Transaction } from 'mortise/sdk';
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

const columns = 'attachment_id, item_id, kind, uri, sha256, size_bytes, meta_json, created_at' as const;

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
  const table: PagedTable<AttachmentColumns, Attachment> = {
    table: 'logbook.attachments',
    columns,
    key: 'attachment_id',
    rowOf,
  };

  const insert = async (given: NewAttachment, sha256: string, trx: Transaction): Promise<Attachment | undefined> => {
    const { rows } = await database.statement<AttachmentColumns>(
      `insert into {logbook.attachments} (item_id, kind, uri, sha256, size_bytes, meta_json)
       values (?, ?, ?, ?, ?, ?) on conflict (item_id, kind, sha256) do nothing returning ${columns}`,
      [given.itemId, given.kind, given.uri, sha256, given.sizeBytes ?? null, codec.json(given.meta ?? {})],
      { trx },
    );
    return rows[0] && rowOf(rows[0]);
  };

  const attach = async (given: NewAttachment, trx: Transaction) => {
    const item = await database.statement(
      // Locks the item against deletion until the commit.
      `select item_id from {logbook.items} where item_id = ? ${database.dialect === 'postgres' ? 'for key share' : ''}`,
      [given.itemId],
      { trx },
    );
    if (item.rows.length === 0) return null;
    const sha256 = given.sha256.toLowerCase();
    const created = await insert(given, sha256, trx);
    if (created !== undefined) return { attachment: created, created: true };
    const { rows } = await database.statement<AttachmentColumns>(
      `select ${columns} from {logbook.attachments} where item_id = ? and kind = ? and sha256 = ?`,
      [given.itemId, given.kind, sha256],
      { trx },
    );
    return { attachment: rowOf(rows[0] as AttachmentColumns), created: false };
  };

  return {
    attach: (given, options) => database.transaction((trx) => attach(given, trx), options),
    async get(attachmentId, options) {
      // PostgreSQL rejects numbers outside bigint.
      if (!Number.isSafeInteger(attachmentId)) return null;
      const { rows } = await database.statement<AttachmentColumns>(
        `select ${columns} from {logbook.attachments} where attachment_id = ?`,
        [attachmentId],
        options,
      );
      return rows[0] === undefined ? null : rowOf(rows[0]);
    },
    query({ itemId, kind, sha256, ...page }, options) {
      return readPage(database, table, { item_id: itemId, kind, sha256: sha256?.toLowerCase() }, page, options);
    },
  };
}
