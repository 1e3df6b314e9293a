import type { LedgerFilters } from 'mortise/contracts/logbook';
import { type MemoryFilters, readTime } from 'mortise/sdk';
import { argumentError, refuseLostNumbers } from '../argument-error.js';
import { spaceProblem } from '../policy/decide.js';

/** Arguments of `memory_query`, read and normalised. */
export interface QueryArguments {
  readonly query: string;
  /** Each once, in order. */
  readonly spaces: readonly string[];
  readonly filters: MemoryFilters;
  readonly topK: number;
}

const TOOL = 'memory_query';
const DEFAULT_TOP_K = 10;

type Json = Readonly<Record<string, unknown>>;

const known = new Set([
  'kind',
  'created_after',
  'created_before',
  'min_score',
  'evidence',
  'meta',
  'actor_user_id',
  'explain',
]);

function time(filters: Json, name: 'created_after' | 'created_before'): string | undefined {
  const text = filters[name];
  if (text === undefined || text === null) return undefined;
  const at = typeof text === 'string' ? readTime(text) : undefined;
  if (at === undefined) throw argumentError(TOOL, `/filters/${name}`, 'must be an ISO 8601 time');
  return at;
}

/** Drops members without a value, so that the rest is what was asked for. */
function given<T extends object>(members: T): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null)) as T;
}

function readFilters(filters: Json): MemoryFilters {
  const { kind, min_score: minScore, evidence, meta, actor_user_id: actorUserId, explain } = filters;
  const other = Object.fromEntries(Object.entries(filters).filter(([name]) => !known.has(name)));
  return given({
    kind: typeof kind === 'string' ? [kind] : (kind as readonly string[] | undefined),
    createdAfter: time(filters, 'created_after'),
    createdBefore: time(filters, 'created_before'),
    minScore: minScore as number | undefined,
    evidence: evidence as string | undefined,
    meta: meta as Json | undefined,
    actorUserId: actorUserId as string | undefined,
    explain: explain as boolean | undefined,
    other: Object.keys(other).length === 0 ? undefined : other,
  }) as MemoryFilters;
}

/**
 * Reads arguments that passed the tool's schema.
 * @throws MortiseError `INVALID_PARAM_VALUE` (422) for a space of no known type, or a time that is none.
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

/** The filters that the ledger decides. */
export function ledgerFilters({
  kind,
  createdAfter,
  createdBefore,
  evidence,
  meta,
  actorUserId,
}: MemoryFilters): LedgerFilters {
  return given({ kind, createdAfter, createdBefore, evidence, meta, actorUserId });
}
