import type { LedgerFilters, TextQuestion } from 'mortise/contracts/logbook';
import { argumentError, type MemorySearch, readTime } from 'mortise/sdk';
import { refuseLostNumbers } from '../errors.js';
import { spaceProblem } from '../policy/decide.js';

/** Arguments of `memory_query`, validated and normalised. */
export interface QueryArguments {
  readonly query: string;
  /** Without duplicates, in the order given. */
  readonly spaces: readonly string[];
  readonly filters: MemorySearch['filters'];
  readonly topK: number;
}

const TOOL = 'memory_query';
const DEFAULT_TOP_K = 10;

type Json = Readonly<Record<string, unknown>>;

const knownFilters = new Set([
  'kind',
  'created_after',
  'created_before',
  'min_score',
  'evidence',
  'meta',
  'actor_user_id',
  'explain',
  'context',
]);

function readTimeFilter(filters: Json, name: 'created_after' | 'created_before'): string | undefined {
  const text = filters[name];
  if (text === undefined || text === null) return undefined;
  const time = typeof text === 'string' ? readTime(text) : undefined;
  if (time === undefined) throw argumentError(TOOL, `/filters/${name}`, 'must be an ISO 8601 time');
  return time;
}

/** Drops members without a value. */
function present<T extends object>(members: T): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null)) as T;
}

function readFilters(filters: Json): MemorySearch['filters'] {
  const { kind, min_score: minScore, evidence, meta, actor_user_id: actorUserId, explain, context } = filters;
  const other = Object.fromEntries(Object.entries(filters).filter(([name]) => !knownFilters.has(name)));
  return present({
    kind: typeof kind === 'string' ? [kind] : (kind as readonly string[] | undefined),
    createdAfter: readTimeFilter(filters, 'created_after'),
    createdBefore: readTimeFilter(filters, 'created_before'),
    minScore: minScore as number | undefined,
    evidence: evidence as string | undefined,
    meta: meta as Json | undefined,
    actorUserId: actorUserId as string | undefined,
    explain: explain as boolean | undefined,
    context: context as boolean | undefined,
    other: Object.keys(other).length === 0 ? undefined : other,
  }) as MemorySearch['filters'];
}

/**
 * Reads arguments that passed the tool's schema.
 * @throws MortiseError `INVALID_PARAM_VALUE` (422) for an invalid space, time or number.
 */
export function readQueryArguments(args: Json, defaultSpace: string): QueryArguments {
  const spaces = [...new Set((args.spaces as readonly string[] | undefined) ?? [defaultSpace])];
  for (const [index, space] of spaces.entries()) {
    const problem = spaceProblem(space);
    if (problem === undefined) continue;
    const expected =
      problem.reason === 'unknown_space_type' ? 'must start with private:, team: or org:' : 'must name a space';
    throw argumentError(TOOL, `/spaces/${index}`, expected);
  }
  if (args.filters !== undefined) refuseLostNumbers(TOOL, 'filters', args.filters);
  return {
    query: args.query as string,
    spaces,
    filters: readFilters((args.filters as Json | undefined) ?? {}),
    topK: (args.top_k as number | undefined) ?? DEFAULT_TOP_K,
  };
}

/** The filters that the ledger can apply. */
export function ledgerFilters({
  kind,
  createdAfter,
  createdBefore,
  evidence,
  meta,
  actorUserId,
}: MemorySearch['filters']): LedgerFilters {
  return present({ kind, createdAfter, createdBefore, evidence, meta, actorUserId });
}

const segmenter = new Intl.Segmenter('und', { granularity: 'word' });

/** The phrase and the distinct words of a query, for plain text search. */
export function splitQuestion(query: string): TextQuestion {
  const words = Array.from(segmenter.segment(query))
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment }) => segment.toLowerCase());
  return { phrase: query.trim(), terms: [...new Set(words)] };
}
