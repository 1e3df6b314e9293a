import { type Database, insertRows, jsonTexts } from 'mortise/sdk';
import type { EmbedderFacts } from './embed-texts.js';

const target = {
  table: 'logbook.memory_vectors',
  columns: ['memory_id', 'embedder', 'version', 'vector'],
  suffix: `on conflict (memory_id, embedder) do update set version = excluded.version, vector = excluded.vector`,
};

/** Vectors of memories that this version of the embedder made before, by memory id. */
export async function readVectors(
  database: Database,
  embedder: string,
  { version, dimensions }: EmbedderFacts,
  ids: readonly string[],
): Promise<Map<string, Float32Array>> {
  const { rows } = await database.statement<{ memory_id: string; vector: Uint8Array }>(
    `select memory_id, vector from {logbook.memory_vectors}
     where embedder = ? and version = ? and memory_id in ${jsonTexts(database.dialect)}`,
    [embedder, version, JSON.stringify(ids)],
  );
  const vectors = rows.map(({ memory_id, vector }) => {
    // A copy, because a row's bytes need not lie where four of them make a number.
    return [memory_id, new Float32Array(Uint8Array.from(vector).buffer)] as const;
  });
  return new Map(vectors.filter(([, vector]) => vector.length === dimensions));
}

/** Keeps vectors for the next query; those of an earlier version give way. */
export async function keepVectors(
  database: Database,
  embedder: string,
  { version }: EmbedderFacts,
  vectors: ReadonlyMap<string, Float32Array>,
): Promise<void> {
  const rows = [...vectors].map(([id, { buffer, byteOffset, byteLength }]) => {
    return [id, embedder, version, new Uint8Array(buffer, byteOffset, byteLength)];
  });
  await insertRows(database, target, rows);
}
