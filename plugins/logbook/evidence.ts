import type { KeyValues, StoredEvidence } from 'mortise/contracts/logbook';
import { type Database, jsonTexts } from 'mortise/sdk';

/** Longer numbers do not fit the column. */
const LARGEST_ID = /^\d{1,15}$/;

/** Stored hashes that evidence URIs are checked against. */
export function createStoredEvidence(database: Database): StoredEvidence {
  return {
    async attachmentHashes(ids, options) {
      if (ids.length === 0) return new Map();
      const { rows } = await database.statement<{ id: string; sha256: string }>(
        `select cast(attachment_id as text) as id, sha256 from {logbook.attachments}
         where attachment_id in (select cast(value as bigint) from ${jsonTexts(database.dialect)} ids)`,
        [JSON.stringify(ids.filter((id) => LARGEST_ID.test(id)))],
        options,
      );
      return new Map(rows.map(({ id, sha256 }) => [id, sha256]));
    },
  };
}

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
