import type { StoredEvidence } from 'mortise/contracts/logbook';
import { type Database, jsonTexts } from 'mortise/sdk';

/** Longer numbers are no ids, and would not fit the column. */
const LARGEST_ID = /^\d{1,15}$/;

/** What evidence URIs can be checked against. */
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
