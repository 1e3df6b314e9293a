import type { TextAnalysis } from 'mortise/contracts/text-analysis';

export const dimensions = 512;

/** Incremented with every change of the vector of any text. */
const revision = 1;

/** The name of the model: vectors also depend on the analysis. */
export function model(analysisVersion: string): string {
  return `hashed-${revision}-${analysisVersion}`;
}

const minGramLength = 3;
const maxGramLength = 5;

/** A gram is less significant than a word; together the grams of a word weigh about as much as the word. */
const gramShare = 0.5;

/** FNV-1a over UTF-16 units, 32 bits. */
function hashOf(text: string, seed: number): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 0;
}

/**
 * Signed feature hashing (Weinberger and others 2009) of the terms of a text without stop words and of their grams of 3 to
 * 5 characters. The frequency of a feature counts by its root. Unit length; zero for a text without terms.
 */
export function embedText(analysis: TextAnalysis, text: string): Float32Array {
  const features = new Map<string, number>();
  const add = (feature: string, weight: number): void =>
    void features.set(feature, (features.get(feature) ?? 0) + weight);
  for (const { term, class: kind } of analysis.analyse(text)) {
    if (analysis.isStopWord(term)) continue;
    add(`=${term}`, 1);
    if (kind !== 'stem') continue;
    const padded = `_${term}_`;
    const grams: string[] = [];
    for (let size = minGramLength; size <= maxGramLength; size += 1) {
      for (let at = 0; at + size <= padded.length; at += 1) grams.push(padded.slice(at, at + size));
    }
    for (const gram of grams) add(gram, gramShare / Math.sqrt(grams.length));
  }
  const vector = new Float32Array(dimensions);
  for (const [feature, weight] of features) {
    const hash = hashOf(feature, 0);
    const sign = (hashOf(feature, 0x9e3779b9) & 1) === 0 ? 1 : -1;
    const place = hash % dimensions;
    vector[place] = (vector[place] ?? 0) + sign * Math.sqrt(weight);
  }
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? vector : vector.map((value) => value / length);
}
