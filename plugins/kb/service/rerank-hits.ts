import { cosine, scaled } from 'mortise/contracts/text-analysis';
import type { KeywordHit } from '../search/index-search.js';

/** The two scores of a candidate and what follows from them. */
interface RerankedScore {
  /** Place in the order of keywords, from 0. */
  readonly from: number;
  readonly keywordNorm: number;
  readonly vectorScore: number | null;
  readonly finalScore: number;
}

/**
 * Orders candidates by `(1 − alpha) · keyword_norm + alpha · vector_score`, where `keyword_norm` is the keyword score
 * scaled from the worst to the best. A candidate without a vector counts 0 for it. Ties keep the order of keywords.
 *
 * @param vectorScores between 0 and 1, null without a vector
 */
export function rerankScores(
  keywordScores: readonly number[],
  vectorScores: readonly (number | null)[],
  alpha: number,
): readonly RerankedScore[] {
  const norms = scaled(keywordScores);
  return keywordScores
    .map((_, from) => {
      const keywordNorm = norms[from] ?? 0;
      const vectorScore = vectorScores[from] ?? null;
      return { from, keywordNorm, vectorScore, finalScore: (1 - alpha) * keywordNorm + alpha * (vectorScore ?? 0) };
    })
    .sort((a, b) => b.finalScore - a.finalScore || a.from - b.from);
}

/** The vector score of two unit vectors: the cosine, scaled to 0 to 1. */
export function vectorScore(one: Float32Array, other: Float32Array): number {
  return (cosine(one, other) + 1) / 2;
}

/** Reorders the first hits by their vectors; those after them keep their places. */
export function rerankHits(
  hits: readonly KeywordHit[],
  vectors: readonly (Float32Array | null)[],
  query: Float32Array,
  alpha: number,
): readonly KeywordHit[] {
  const first = hits.slice(0, vectors.length);
  const scores = vectors.map((vector) => (vector === null ? null : vectorScore(vector, query)));
  const ordered = rerankScores(
    first.map(({ score }) => score),
    scores,
    alpha,
  );
  const reranked = ordered.map(({ from, keywordNorm, vectorScore: own, finalScore }, index): KeywordHit => {
    const hit = first[from] as KeywordHit;
    return {
      ...hit,
      score: finalScore,
      explanation: {
        ...hit.explanation,
        score: finalScore,
        keyword_score: hit.score,
        keyword_norm: keywordNorm,
        vector_score: own,
        alpha,
        final_score: finalScore,
        rerank_delta: from - index,
        final_rank: index + 1,
      },
    };
  });
  return [...reranked, ...hits.slice(vectors.length)];
}
