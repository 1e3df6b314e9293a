import { type EmbedderFacts, scaled } from 'mortise/contracts/text-analysis';
import { type Database, insertRows, jsonTexts, type MemoryHit } from 'mortise/sdk';

const target = {
  table: 'logbook.memory_vectors',
  columns: ['memory_id', 'embedder', 'version', 'vector'],
  suffix: `on conflict (memory_id, embedder) do update set version = excluded.version, vector = excluded.vector`,
};

/** Stored vectors of this model of the embedder, by memory id. */
export async function readVectors(
  database: Database,
  embedder: string,
  { model, dimensions }: EmbedderFacts,
  ids: readonly string[],
): Promise<Map<string, Float32Array>> {
  const { rows } = await database.statement<{ memory_id: string; vector: Uint8Array }>(
    `select memory_id, vector from {logbook.memory_vectors}
     where embedder = ? and version = ? and memory_id in ${jsonTexts(database.dialect)}`,
    [embedder, model, JSON.stringify(ids)],
  );
  const vectors = rows.map(({ memory_id, vector }) => {
    // A copy, because the bytes of a row may be unaligned.
    return [memory_id, new Float32Array(Uint8Array.from(vector).buffer)] as const;
  });
  return new Map(vectors.filter(([, vector]) => vector.length === dimensions));
}

/** Stores vectors for later queries, replacing those of an earlier model. */
export async function storeVectors(
  database: Database,
  embedder: string,
  { model }: EmbedderFacts,
  vectors: ReadonlyMap<string, Float32Array>,
): Promise<void> {
  const rows = [...vectors].map(([id, { buffer, byteOffset, byteLength }]) => {
    return [id, embedder, model, new Uint8Array(buffer, byteOffset, byteLength)];
  });
  await insertRows(database, target, rows);
}

/** Weight of the words; the vectors have the rest. */
const wordsShare = 0.5;

/**
 * Orders hits by words and vectors in equal parts, each scaled from the worst to the best hit. Equal hits keep their
 * order.
 *
 * @param similarities of the hits to the query, in their order
 */
export function blend(hits: readonly MemoryHit[], similarities: readonly number[]): readonly MemoryHit[] {
  const words = scaled(hits.map(({ score }) => score));
  const vectors = scaled(similarities);
  return hits
    .map((hit, index) => {
      const [lexical, vector] = [words[index] ?? 0, vectors[index] ?? 0];
      const score = wordsShare * lexical + (1 - wordsShare) * vector;
      return { ...hit, score, ...(hit.explain === undefined ? {} : { explain: { ...hit.explain, lexical, vector } }) };
    })
    .sort((a, b) => b.score - a.score);
}
