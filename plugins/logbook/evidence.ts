import type { KeyValues, StoredEvidence } from 'mortise/contracts/logbook';
import { type Database, jsonTexts, type TransactionOption } from 'mortise/sdk';

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
  const table = (options?: TransactionOption) => database.query(options)(database.table('logbook.kv'));
  return {
    async get(namespace, key, options) {
      const row: { value_json: string | null } | undefined = await table(options)
        .where({ namespace, key })
        .first('value_json');
      return row === undefined ? undefined : database.codec.parseJson(row.value_json);
    },
    async set(namespace, key, value, options) {
      await table(options)
        .insert({
          namespace,
          key,
          value_json: database.codec.json(value),
          updated_at: database.codec.time(Date.now()),
        })
        .onConflict(['namespace', 'key'])
        .merge();
    },
  };
}
