import type { CallOptions } from 'mortise/sdk';

/** A search. Names and defaults are those of `POST /kb/search`. */
export interface SearchRequest {
  /** Plain text; no character is an operator unless `syntax` is set. At most 8,192 characters. */
  readonly query: string;
  /** 1 to 100; default 10. */
  readonly top_k?: number;
  /** 0 to 100; default 0. */
  readonly offset?: number;
  /** Name of a repo, or `*` for all; default the first configured one. */
  readonly repo?: string;
  /** Literal path prefix. */
  readonly scope?: string;
  readonly filters?: SearchFilters;
  /** Default true. */
  readonly explain?: boolean;
  /** Returns the content of the chunks too; default false. */
  readonly content?: boolean;
  /** Default: the setting `rerank.enabled`. */
  readonly rerank?: boolean;
  /** Quoted words are required, `-term` excludes, `path:`, `heading:`, `type:` and `tag:` filter; default false. */
  readonly syntax?: boolean;
  /** `YYYY-MM-DD`, the day from which recency is counted; default today, UTC. */
  readonly as_of?: string;
}

export interface SearchFilters {
  readonly doc_types?: readonly string[];
  readonly tags?: readonly string[];
  readonly path_glob?: string;
  /** RFC 3339, epoch seconds, or a span such as `7d`. */
  readonly modified_after?: string | number;
  readonly modified_before?: string | number;
}

/** One term of the query as it occurs in a chunk. */
export interface TermExplanation {
  readonly term: string;
  readonly class: string;
  readonly field: 'body' | 'heading' | 'path';
  /** Weighted frequency in the chunk. */
  readonly tf: number;
  /** Chunks of the repo with the term. */
  readonly df: number;
  readonly idf: number;
  readonly weight: number;
  readonly contribution: number;
  /** The word of the query that occurs nowhere and was replaced by this term. */
  readonly expanded_from?: string;
}

export interface ScoreParts {
  readonly bm25: number;
  /** Quoted phrases, and words of the query that are near one another. */
  readonly phrase: number;
  readonly coverage: number;
  readonly grams: number;
  readonly feedback: number;
  readonly passage: number;
}

/**
 * Why a hit has its score: `text_score` is the sum of `parts`, `bm25_score` the sum of the contributions of `terms`, and
 * `score = text_score · document_boost · recency_boost`. With rerank, `keyword_score` is that product and `score` equals
 * `final_score = (1 − alpha) · keyword_norm + alpha · vector_score`.
 */
export interface Explanation {
  readonly path: string;
  readonly heading: string | null;
  readonly lines: string;
  readonly score: number;
  /** Words as they are in the query. */
  readonly matched_terms: readonly string[];
  /** Occurrences of each matched word in the chunk, headings included. */
  readonly term_frequencies: Readonly<Record<string, number>>;
  readonly terms: readonly TermExplanation[];
  readonly bm25_score: number;
  readonly parts: ScoreParts;
  /** Terms of the best passages that count as feedback, if any. */
  readonly feedback_terms?: readonly string[];
  readonly text_score: number;
  readonly document_boost: number;
  readonly recency_boost: number;
  readonly doc_type: string;
  /** Whole days between the date of the source and `as_of`. */
  readonly days: number;
  readonly keyword_score?: number;
  readonly keyword_norm?: number;
  readonly vector_score?: number | null;
  readonly alpha?: number;
  readonly final_score?: number;
  readonly rerank_delta?: number;
  readonly final_rank?: number;
}

export interface Snippet {
  /** At most 500 characters. */
  readonly text: string;
  readonly start_line: number;
  readonly end_line: number;
  /** Half-open ranges of `text` that match the query. */
  readonly marks: readonly (readonly [from: number, to: number])[];
  /** Only the heading or the path matches. */
  readonly heading_only?: true;
}

export interface Hit {
  readonly rank: number;
  readonly chunk_id: string;
  readonly repo: string;
  readonly path: string;
  readonly heading: string | null;
  readonly heading_path: readonly string[];
  /** `L45-L68` */
  readonly lines: string;
  readonly start_line: number;
  readonly end_line: number;
  readonly score: number;
  readonly doc_type: string;
  readonly tags: readonly string[];
  /** ISO 8601. */
  readonly mtime: string;
  readonly evidence_ref: string;
  readonly snippet: Snippet;
  readonly content?: string;
  /** The file is not what was indexed. */
  readonly stale?: true;
  readonly explanation?: Explanation;
}

/** Why an answer has no hits. */
export type EmptyReason = 'not_indexed' | 'no_searchable_terms' | 'no_match' | 'filtered_out';

export interface Degraded {
  readonly code: 'embedder_unavailable' | 'embedding_coverage_low';
  readonly message: string;
  readonly hint: string;
}

export interface SearchAnswer {
  readonly query: string;
  readonly mode: 'keyword' | 'hybrid';
  readonly results: readonly Hit[];
  /** Chunks with at least one term, within the filters. */
  readonly total_candidates: number;
  readonly reason?: EmptyReason;
  readonly notes?: readonly string[];
  readonly suggestions?: readonly string[];
  readonly degraded?: Degraded;
  readonly index: { readonly revision: number; readonly last_refresh: string | null };
  readonly retrieval_id: string;
  readonly took_ms: number;
}

/** A chunk as stored. */
export interface ChunkDetails {
  readonly chunk_id: string;
  readonly repo: string;
  readonly path: string;
  readonly source_id: string;
  readonly doc_type: string;
  readonly tags: readonly string[];
  readonly mtime: string;
  readonly heading: string | null;
  readonly heading_path: readonly string[];
  readonly lines: string;
  readonly start_line: number;
  readonly end_line: number;
  readonly content: string;
  readonly content_hash: string;
  readonly tokens: number;
  readonly evidence_ref: string;
  readonly stale?: true;
  readonly previous_chunk_id: string | null;
  readonly next_chunk_id: string | null;
  readonly explanation?: Explanation | null;
  /**
   * The rank of the hit for the query; for a chunk after the first ten hits, the smallest `top_k` that finds it. Null when
   * the chunk is not a candidate.
   */
  readonly rank?: number | null;
  readonly terms?: Readonly<Record<string, number>>;
  readonly vectors?: readonly { readonly embedder: string; readonly model: string; readonly dimensions: number }[];
}

export interface EvidenceAnswer {
  readonly ref: string;
  readonly state: 'current' | 'moved' | 'changed' | 'missing';
  readonly chunk?: ChunkDetails;
  /** The lines now, joined by line feeds; absent when the source is missing. */
  readonly lines?: string;
  readonly start_line?: number;
  readonly end_line?: number;
}

export interface RefreshRequest {
  readonly mode?: 'incremental' | 'full' | 'verify';
  /** Files or folders relative to the repo. */
  readonly paths?: readonly string[];
  readonly repo?: string;
}

/** A file that is not indexed, or only in an older version. */
export interface SourceFailure {
  readonly path: string;
  readonly status: 'skipped' | 'error' | 'stale';
  readonly reason: string;
  readonly detail: string | null;
}

export interface RefreshReport {
  readonly repo: string;
  readonly mode: 'incremental' | 'full' | 'verify';
  readonly total_files: number;
  readonly changed_files: number;
  readonly touched_files: number;
  readonly deleted_files: number;
  readonly total_chunks: number;
  readonly new_chunks: number;
  readonly deleted_chunks: number;
  readonly skipped_files: number;
  readonly errors: number;
  readonly duration_ms: number;
  readonly failures: readonly SourceFailure[];
  readonly warnings: readonly string[];
  /** Present when vectors were made. */
  readonly embeddings?: {
    readonly total: number;
    readonly built: number;
    readonly skipped: number;
    readonly errors: number;
  };
}

export interface KbStats {
  readonly schema_version: number;
  readonly index_revision: number;
  readonly last_refresh: string | null;
  readonly database: { readonly path_kind: 'data_dir'; readonly bytes: number };
  readonly repos: readonly {
    readonly name: string;
    readonly files: number;
    readonly chunks: number;
    readonly by_type: Readonly<Record<string, number>>;
    readonly errors: number;
    readonly skipped: number;
  }[];
  readonly embeddings: {
    readonly embedder: string | null;
    readonly model: string | null;
    readonly dimensions: number | null;
    /** Vectors. */
    readonly total: number;
    /** Distinct contents. */
    readonly contents: number;
    /** Share of the distinct contents with a vector, 0 to 1. */
    readonly coverage: number;
  };
}

/** The knowledge base, for plugins. Validation and error codes are those of `/kb/*`. */
export interface KnowledgeBase {
  search(request: SearchRequest, options?: CallOptions): Promise<SearchAnswer>;
  /** @throws MortiseError `chunk_not_found` */
  get(chunkId: string): Promise<ChunkDetails>;
  /** @throws MortiseError `invalid_evidence_ref` */
  resolve(ref: string, repo?: string): Promise<EvidenceAnswer>;
  /** @throws MortiseError `refresh_running`, `repo_not_found`, `repo_unavailable`, `index_unavailable` */
  refresh(request: RefreshRequest, options?: CallOptions): Promise<RefreshReport>;
  explain(chunkId: string, query: string): Promise<ChunkDetails>;
  stats(): Promise<KbStats>;
}
