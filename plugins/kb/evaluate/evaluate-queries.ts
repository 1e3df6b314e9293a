import { basename } from 'node:path';
import type { KbService, RepoChoice } from '../service/knowledge-base.js';
import type { Evaluation } from './evaluate-set.js';
import { measure } from './measures.js';
import { badLine } from './read-set.js';

type Line = { readonly value: Record<string, unknown>; readonly line: number };

function namesOf(
  { value, line }: Line,
  file: string,
): { readonly query: string; readonly paths: readonly string[]; readonly chunks: readonly string[] } {
  const { query, expected_paths: paths = [], expected_chunk_ids: chunks = [] } = value;
  const isList = (list: unknown): list is string[] =>
    Array.isArray(list) && list.every((one) => typeof one === 'string');
  if (typeof query !== 'string' || !isList(paths) || !isList(chunks) || paths.length + chunks.length === 0) {
    throw badLine(file, line, 'it needs query and expected_paths or expected_chunk_ids');
  }
  return { query, paths, chunks };
}

/** Asks the current index queries with known answers. @throws MortiseError `invalid_evaluation_set` */
export async function evaluateQueries(
  kb: Pick<KbService, 'search'>,
  lines: readonly Line[],
  file: string,
  cutOffs: readonly number[],
  choice: RepoChoice,
): Promise<Evaluation> {
  const wanted = lines.map((line) => namesOf(line, basename(file)));
  const times: number[] = [];
  const answers = [];
  for (const { query, paths, chunks } of wanted) {
    const { results, took_ms: took } = await kb.search({ query, top_k: 100, explain: false }, choice);
    times.push(took);
    const ranked =
      chunks.length > 0 ? results.map((hit) => hit.chunk_id) : [...new Set(results.map((hit) => hit.path))];
    answers.push({ ranked, judged: new Map((chunks.length > 0 ? chunks : paths).map((name) => [name, 1])) });
  }
  times.sort((a, b) => a - b);
  const percentile = (share: number): number => times[Math.floor(share * (times.length - 1))] ?? 0;
  return {
    set: basename(file),
    documents: 0,
    queries: wanted.length,
    metrics: measure(answers, cutOffs),
    timing: { documents_per_second: 0, p50_ms: percentile(0.5), p95_ms: percentile(0.95) },
  };
}
