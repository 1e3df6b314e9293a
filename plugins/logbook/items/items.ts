import type { Items, LogbookItem } from 'mortise/contracts/logbook';
import type { Database } from 'mortise/sdk';
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

const columns =
  'item_id, item_type, title, project_key, scope_json, status, owner_user_id, created_at, updated_at' as const;

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
  const table: PagedTable<ItemColumns, LogbookItem> = { table: 'logbook.items', columns, key: 'item_id', rowOf };

  return {
    async add(item, options) {
      const { rows } = await database.statement<ItemColumns>(
        `insert into {logbook.items} (item_type, title, project_key, scope_json, status, owner_user_id)
         values (?, ?, ?, ?, ?, ?) returning ${columns}`,
        [
          item.itemType,
          item.title,
          item.projectKey ?? null,
          codec.json(item.scope ?? {}),
          item.status ?? 'open',
          item.ownerUserId ?? null,
        ],
        options,
      );
      return rowOf(rows[0] as ItemColumns);
    },
    async get(itemId, options) {
      // PostgreSQL rejects numbers outside bigint.
      if (!Number.isSafeInteger(itemId)) return null;
      const { rows } = await database.statement<ItemColumns>(
        `select ${columns} from {logbook.items} where item_id = ?`,
        [itemId],
        options,
      );
      return rows[0] === undefined ? null : rowOf(rows[0]);
    },
    query({ itemType, status, projectKey, ownerUserId, ...page }, options) {
      const wanted = { item_type: itemType, status, project_key: projectKey, owner_user_id: ownerUserId };
      return readPage(database, table, wanted, page, options);
    },
  };
}
