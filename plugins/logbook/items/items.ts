import type { Items, LogbookItem } from 'mortise/contracts/logbook';
import type { Database, TransactionOption } from 'mortise/sdk';
import { type PagedTable, readPage } from './read-page.js';

interface ItemColumns {
  readonly item_id: number;
  readonly item_type: string;
  readonly title: string;
  readonly project_key: string | null;
  readonly scope_json: string;
  readonly status: string;
  readonly owner_user_id: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

const columns = [
  'item_id',
  'item_type',
  'title',
  'project_key',
  'scope_json',
  'status',
  'owner_user_id',
  'created_at',
  'updated_at',
];

/** The items of `logbook.items`. */
export function createItems(database: Database): Items {
  const { codec } = database;
  const rowOf = (row: ItemColumns): LogbookItem => ({
    itemId: row.item_id,
    itemType: row.item_type,
    title: row.title,
    projectKey: row.project_key,
    scope: codec.parseJson<Record<string, unknown> | null>(row.scope_json) ?? {},
    status: row.status,
    ownerUserId: row.owner_user_id,
    createdAt: codec.parseTime(row.created_at) ?? '',
    updatedAt: codec.parseTime(row.updated_at) ?? '',
  });
  const items = (options?: TransactionOption) => database.query(options)(database.table('logbook.items'));
  const paged: PagedTable<ItemColumns, LogbookItem> = { table: 'logbook.items', columns, key: 'item_id', rowOf };

  return {
    async add(item, options) {
      const [row] = await items(options)
        .insert({
          item_type: item.itemType,
          title: item.title,
          project_key: item.projectKey ?? null,
          scope_json: codec.json(item.scope ?? {}),
          status: item.status ?? 'open',
          owner_user_id: item.ownerUserId ?? null,
        })
        .returning(columns);
      return rowOf(row);
    },
    async get(itemId, options) {
      // PostgreSQL rejects numbers outside bigint.
      if (!Number.isSafeInteger(itemId)) return null;
      const row: ItemColumns | undefined = await items(options).where({ item_id: itemId }).first(columns);
      return row === undefined ? null : rowOf(row);
    },
    query({ itemType, status, projectKey, ownerUserId, ...page }, options) {
      const wanted = { item_type: itemType, status, project_key: projectKey, owner_user_id: ownerUserId };
      return readPage(database, paged, wanted, page, options);
    },
  };
}
