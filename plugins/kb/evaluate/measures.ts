/** Grades of the relevant documents of one query, by document id. */
export type Judgements = ReadonlyMap<string, number>;

/** Retrieval measures of a list of ranked answers, each between 0 and 1. */
export interface Measures {
  readonly [name: string]: number;
}

/** Normalised discounted cumulative gain: the grade is the gain, log2(rank + 1) the discount. */
function ndcg(ranked: readonly string[], judged: Judgements, k: number): number {
  const gain = (grades: readonly number[]): number =>
    grades.slice(0, k).reduce((sum, grade, index) => sum + grade / Math.log2(index + 2), 0);
  const ideal = gain([...judged.values()].sort((a, b) => b - a));
  return ideal === 0 ? 0 : gain(ranked.map((id) => judged.get(id) ?? 0)) / ideal;
}

/** One over the rank of the first relevant document within the first k. */
function reciprocalRank(ranked: readonly string[], judged: Judgements, k: number): number {
  const at = ranked.slice(0, k).findIndex((id) => (judged.get(id) ?? 0) > 0);
  return at < 0 ? 0 : 1 / (at + 1);
}

/** The share of the relevant documents within the first k. */
function recall(ranked: readonly string[], judged: Judgements, k: number): number {
  const relevant = [...judged].filter(([, grade]) => grade > 0);
  const first = new Set(ranked.slice(0, k));
  return relevant.length === 0 ? 0 : relevant.filter(([id]) => first.has(id)).length / relevant.length;
}

/** All measures of a set of answers, averaged, and the number of empty answers. */
export function measure(
  answers: readonly { readonly ranked: readonly string[]; readonly judged: Judgements }[],
  cutOffs: readonly number[],
): Measures {
  const mean = (of: (answer: (typeof answers)[number]) => number): number =>
    answers.length === 0 ? 0 : answers.reduce((sum, answer) => sum + of(answer), 0) / answers.length;
  const result: Record<string, number> = {
    'ndcg@10': mean(({ ranked, judged }) => ndcg(ranked, judged, 10)),
    'mrr@10': mean(({ ranked, judged }) => reciprocalRank(ranked, judged, 10)),
  };
  for (const k of cutOffs) {
    result[`recall@${k}`] = mean(({ ranked, judged }) => recall(ranked, judged, k));
    result[`hit@${k}`] = mean(({ ranked, judged }) => Number(recall(ranked, judged, k) > 0));
  }
  result.empty = answers.filter(({ ranked }) => ranked.length === 0).length;
  return result;
}
