import type { KnowledgeCandidate, LedgerMemory } from 'mortise/contracts/logbook';
import type { MemoryHit } from 'mortise/sdk';

/** Where a result comes from: the backend, memories it does not have yet, or local data. */
type ItemSource = 'backend' | 'pending' | 'logbook_fallback' | 'ledger';

export interface QueryItem {
  readonly id: string;
  readonly content: string;
  readonly score: number;
  readonly space: string | null;
  readonly kind: string | null;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly evidence_refs: readonly string[];
  readonly created_at: string | null;
  readonly source: ItemSource;
  readonly explain?: MemoryHit['explain'];
}

/** A result from `analysis.knowledge_candidates`. */
export interface CandidateItem {
  readonly id: string;
  readonly content: string;
  readonly title: string | null;
  readonly kind: string | null;
  readonly confidence: string;
  readonly evidence_refs: readonly string[];
  readonly created_at: string;
  readonly score: number;
  readonly source: 'logbook_fallback';
}

/** The result of `memory_query`. The order of the members is part of the contract. */
export interface QueryResult {
  readonly ok: boolean;
  readonly results: readonly (QueryItem | CandidateItem)[];
  readonly total: number;
  readonly spaces_searched: readonly string[];
  readonly message: string | null;
  readonly degraded: boolean;
  readonly correlation_id: string;
  readonly warnings?: readonly string[];
}

function uris(memory: LedgerMemory): readonly string[] {
  return memory.evidence.flatMap(({ uri }) => (typeof uri === 'string' ? [uri] : []));
}

/** A memory of the ledger as a result. */
export function ledgerItem(memory: LedgerMemory, score: number, source: ItemSource): QueryItem {
  return {
    id: memory.backendMemoryId ?? memory.memoryKey,
    content: memory.payload ?? '',
    score,
    space: memory.space,
    kind: memory.kind,
    meta: memory.meta,
    evidence_refs: uris(memory),
    created_at: memory.createdAt,
    source,
  };
}

/** A hit of the backend as a result, with the details of its ledger row. */
export function backendItem(hit: MemoryHit, memory: LedgerMemory | undefined): QueryItem {
  const { explain } = hit;
  const known =
    memory === undefined
      ? { space: hit.space ?? null, kind: null, meta: hit.metadata ?? {}, evidence_refs: [], created_at: null }
      : ledgerItem(memory, hit.score, 'backend');
  return {
    id: hit.id,
    content: hit.content,
    score: Math.min(1, Math.max(0, hit.score)),
    space: known.space,
    kind: known.kind,
    meta: known.meta,
    evidence_refs: known.evidence_refs,
    created_at: known.created_at,
    source: 'backend',
    ...(explain === undefined ? {} : { explain }),
  };
}

export function candidateItem(candidate: KnowledgeCandidate): CandidateItem {
  return {
    id: `kc_${candidate.candidateId}`,
    content: candidate.content,
    title: candidate.title,
    kind: candidate.kind,
    confidence: candidate.confidence,
    evidence_refs: candidate.evidenceRefs,
    created_at: candidate.createdAt,
    score: candidate.score,
    source: 'logbook_fallback',
  };
}

/** Orders by best score, then newest, then id. */
export function byScore(a: QueryItem, b: QueryItem): number {
  if (a.score !== b.score) return b.score - a.score;
  const [older, newer] = [a.created_at ?? '', b.created_at ?? ''];
  if (older !== newer) return older < newer ? 1 : -1;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
