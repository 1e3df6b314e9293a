import type { PatchBlob, PatchBlobs } from 'mortise/contracts/logbook';
import type { Database } from 'mortise/sdk';
import { type PagedTable, readPage } from './read-page.js';

interface PatchColumns {
  readonly blob_id: number;
  readonly source_type: string | null;
  readonly source_id: string | null;
  readonly uri: string | null;
  readonly evidence_uri: string | null;
  readonly sha256: string | null;
  readonly size_bytes: number | null;
  readonly format: string;
  readonly meta_json: string;
}

const columns = [
  'blob_id',
  'source_type',
  'source_id',
  'uri',
  'evidence_uri',
  'sha256',
  'size_bytes',
  'format',
  'meta_json',
];

/** Patches of source control: `scm.patch_blobs`. */
export function createPatchBlobs(database: Database): PatchBlobs {
  const { codec } = database;
  const rowOf = (row: PatchColumns): PatchBlob => ({
    blobId: row.blob_id,
    sourceType: row.source_type,
    sourceId: row.source_id,
    uri: row.uri,
    evidenceUri: row.evidence_uri,
    sha256: row.sha256,
    sizeBytes: row.size_bytes,
    format: row.format,
    meta: codec.parseJson<Record<string, unknown> | null>(row.meta_json) ?? {},
  });
  const table: PagedTable<PatchColumns, PatchBlob> = { table: 'scm.patch_blobs', columns, key: 'blob_id', rowOf };

  return {
    async find({ blobId, evidenceUri, sourceType, sourceId, sha256 }, options) {
      const wanted = {
        blob_id: blobId,
        evidence_uri: evidenceUri,
        source_type: sourceType,
        source_id: sourceId,
        sha256: sha256?.toLowerCase(),
      };
      if (Object.values(wanted).every((value) => value === undefined)) return null;
      const { rows } = await readPage(database, table, wanted, { limit: 1 }, options);
      return rows[0] ?? null;
    },
    async place(blobId, { uri, evidenceUri, sizeBytes }, options) {
      const changes = await database
        .query(options)(database.table('scm.patch_blobs'))
        .where({ blob_id: blobId })
        .update({
          uri,
          ...(evidenceUri !== null && { evidence_uri: evidenceUri }),
          size_bytes: sizeBytes,
          updated_at: codec.time(Date.now()),
        });
      return changes > 0;
    },
  };
}
