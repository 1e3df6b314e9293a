import { basename } from 'node:path';
import { type CallOptions, MortiseError } from 'mortise/sdk';
import { kbError } from '../errors.js';
import type { KbService, RepoChoice } from '../service/knowledge-base.js';
import { type Evaluation, evaluationOf } from './evaluate-set.js';
import { badLine, badSet } from './read-set.js';

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

/**
 * Runs queries with known answers against the current index.
 *
 * @throws MortiseError `invalid_evaluation_set`, `not_indexed`; the code of a fallback when an answer could not be reordered
 */
export async function evaluateQueries(
  kb: Pick<KbService, 'search' | 'stats' | 'repoOf'>,
  lines: readonly Line[],
  file: string,
  { cutOffs, rerank }: { readonly cutOffs: readonly number[]; readonly rerank: boolean | undefined },
  choice: RepoChoice,
  options: CallOptions,
): Promise<Evaluation> {
  const set = basename(file);
  const wanted = lines.map((line) => namesOf(line, set));
  if (wanted.length === 0) throw badSet(`${set} has no queries.`);
  const answers = [];
  for (const { query, paths, chunks } of wanted) {
    const body = { query, top_k: 100, explain: false, ...(rerank === undefined ? {} : { rerank }) };
    const { results, reason, took_ms: ms, degraded } = await kb.search(body, choice, options);
    if (reason === 'not_indexed') throw kbError('not_indexed', { repo: nameOf(kb, choice) });
    if (degraded) throw new MortiseError(degraded.code, degraded.message, { status: 503, hint: degraded.hint });
    const ranked = results.map((hit) => (chunks.length > 0 ? hit.chunk_id : hit.path));
    answers.push({ ranked, judged: new Map((chunks.length > 0 ? chunks : paths).map((name) => [name, 1])), ms });
  }
  const documents = (await kb.stats(choice)).repos.reduce((sum, { files }) => sum + files, 0);
  return evaluationOf({ set, documents }, answers, cutOffs);
}

function nameOf(kb: Pick<KbService, 'repoOf'>, choice: RepoChoice): string {
  return choice.repo ?? kb.repoOf(choice).name;
}
