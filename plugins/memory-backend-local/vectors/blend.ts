import type { MemoryHit } from 'mortise/sdk';

/** How much the words count; the vectors count for the rest. */
const WORDS_SHARE = 0.5;

/** Values between 0 for the smallest and 1 for the largest of them; 1 where all are alike. */
function spread(values: readonly number[]): readonly number[] {
  const [smallest, largest] = [Math.min(...values), Math.max(...values)];
  return values.map((value) => (largest === smallest ? 1 : (value - smallest) / (largest - smallest)));
}

/** Cosine of the angle between two vectors; 0 where one has no direction. */
export function cosine(a: Float32Array, b: Float32Array): number {
  let [product, lengthA, lengthB] = [0, 0, 0];
  for (let at = 0; at < a.length; at += 1) {
    const [left, right] = [a[at] ?? 0, b[at] ?? 0];
    product += left * right;
    lengthA += left * left;
    lengthB += right * right;
  }
  const lengths = Math.sqrt(lengthA * lengthB);
  return lengths === 0 ? 0 : product / lengths;
}

/**
 * Hits in the order of words and vectors together: both as far as they lie between the worst and the best hit, half and
 * half. Hits that are alike keep their order.
 *
 * @param similarities of the hits to the query, in their order
 */
export function blend(hits: readonly MemoryHit[], similarities: readonly number[]): readonly MemoryHit[] {
  const words = spread(hits.map(({ score }) => score));
  const vectors = spread(similarities);
  return hits
    .map((hit, index) => {
      const [lexical, vector] = [words[index] ?? 0, vectors[index] ?? 0];
      const score = WORDS_SHARE * lexical + (1 - WORDS_SHARE) * vector;
      return { ...hit, score, ...(hit.explain === undefined ? {} : { explain: { ...hit.explain, lexical, vector } }) };
    })
    .sort((a, b) => b.score - a.score);
}
