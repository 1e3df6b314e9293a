import { type CallOptions, MortiseError, type Points } from 'mortise/sdk';

/** Texts of one call. */
const BATCH = 64;

export interface EmbedderFacts {
  readonly dimensions: number;
  readonly version: string;
}

/** What the embedder says of itself; undefined while it is not there. */
export function embedderFacts(points: Points, key: string): EmbedderFacts | undefined {
  return points.list('embedder').find((one) => one.key === key && one.active)?.facts;
}

function isVector(vector: Float32Array | undefined, dimensions: number): vector is Float32Array {
  return vector instanceof Float32Array && vector.length === dimensions && vector.every(Number.isFinite);
}

/** One vector for each text, in order. @throws MortiseError `embedder_invalid`, or whatever the embedder throws. */
export async function embedTexts(
  points: Points,
  key: string,
  texts: readonly string[],
  options: CallOptions,
): Promise<readonly Float32Array[]> {
  const dimensions = embedderFacts(points, key)?.dimensions ?? 0;
  const vectors: Float32Array[] = [];
  for (let at = 0; at < texts.length; at += BATCH) {
    const batch = texts.slice(at, at + BATCH);
    const made = await points.call('embedder', key, (embedder, ctx) => embedder.embed(batch, ctx), options);
    for (let index = 0; index < batch.length; index += 1) {
      const vector = made[index];
      if (!isVector(vector, dimensions)) {
        throw new MortiseError('embedder_invalid', `Embedder ${key} did not give ${dimensions} numbers for each text.`);
      }
      vectors.push(vector);
    }
  }
  return vectors;
}
