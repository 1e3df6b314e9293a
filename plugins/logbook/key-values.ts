import type { KeyValues } from 'mortise/contracts/logbook';
import type { Database } from 'mortise/sdk';

/** Small JSON values by namespace and key. */
export function createKeyValues(database: Database): KeyValues {
  return {
    async get(namespace, key, options) {
      const { rows } = await database.statement<{ value_json: string | null }>(
        'select value_json from {logbook.kv} where namespace = ? and key = ?',
        [namespace, key],
        options,
      );
      return rows[0] === undefined ? undefined : database.codec.parseJson(rows[0].value_json);
    },
    async set(namespace, key, value, options) {
      await database.statement(
        `insert into {logbook.kv} (namespace, key, value_json, updated_at) values (?, ?, ?, ?)
         on conflict (namespace, key) do update set value_json = excluded.value_json, updated_at = excluded.updated_at`,
        [namespace, key, database.codec.json(value), database.codec.time(Date.now())],
        options,
      );
    },
  };
}
