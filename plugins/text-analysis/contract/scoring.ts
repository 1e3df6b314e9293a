/** BM25 (Robertson and Zaragoza 2009): `k1` limits the effect of repetition, `b` is the effect of length, 0 to 1. */
export interface Bm25Parameters {
  readonly k1: number;
  readonly b: number;
}

/** Inverse document frequency of a term that `df` of `documents` texts have; never negative. */
export function inverseFrequency(documents: number, df: number): number {
  return Math.log(1 + (Math.max(documents, df) - df + 0.5) / (df + 0.5));
}

/**
 * BM25 share of a term that occurs `tf` times in a text of `lengthFactor` times the average length; approaches 1 as `tf`
 * grows.
 */
export function bm25Share(tf: number, lengthFactor: number, { k1, b }: Bm25Parameters): number {
  return tf / (tf + k1 * (1 - b + b * lengthFactor));
}

/** Scales values to 0 for the smallest and 1 for the largest; to 1 when all are equal. */
export function scaled(values: readonly number[]): readonly number[] {
  let [smallest, largest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (value < smallest) smallest = value;
    if (value > largest) largest = value;
  }
  return values.map((value) => (largest === smallest ? 1 : (value - smallest) / (largest - smallest)));
}

/** Cosine of the angle between two vectors; 0 when one is zero. */
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
