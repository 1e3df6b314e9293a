import type { CallContext } from '../context.js';
import type { Transaction } from '../host/database.js';

export interface MemoryBackendFacts {
  readonly limits?: { readonly maxContentChars?: number };
  readonly capabilities: {
    /** `store` writes inside the given transaction and commits with it. */
    readonly transactional: boolean;
    readonly readBack: boolean;
    readonly list: boolean;
    /** A repeated `store` with the same memory key changes nothing. */
    readonly idempotent: boolean;
  };
}

export interface MemoryItem {
  readonly memoryKey: string;
  readonly content: string;
  readonly space: string;
  readonly kind: string | null;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly evidence: readonly Readonly<Record<string, unknown>>[];
  readonly actorUserId: string | null;
  readonly payloadSha: string;
  readonly correlationId: string;
}

export interface MemoryFilters {
  readonly kind?: readonly string[];
  /** ISO 8601. */
  readonly createdAfter?: string;
  readonly createdBefore?: string;
  /** 0 to 1. */
  readonly minScore?: number;
  /** Substring of an evidence URI. */
  readonly evidence?: string;
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly actorUserId?: string;
  readonly explain?: boolean;
  /** False: neighbours in a conversation do not affect the score. Defaults to true. */
  readonly context?: boolean;
  /** Filters unknown to the platform; the backend lists those unknown to it in `unknownFilters`. */
  readonly other?: Readonly<Record<string, unknown>>;
}

export interface MemorySearch {
  readonly query: string;
  readonly spaces: readonly string[];
  readonly filters: MemoryFilters;
  readonly limit: number;
}

export interface MemoryHit {
  /** The backend's id of the memory. */
  readonly id: string;
  readonly content: string;
  /** 0 to 1. */
  readonly score: number;
  readonly space?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly explain?: {
    readonly bm25: number;
    readonly coverage: number;
    readonly phrase: number;
    readonly matched_terms: readonly string[];
    /** With an embedder: the word and vector scores, each scaled from 0 for the worst hit to 1 for the best. */
    readonly lexical?: number;
    readonly vector?: number;
    /** For a memory of a conversation: the part of the score from its neighbours, and the score of each. */
    readonly context?: number;
    readonly context_from?: readonly { readonly id: string; readonly distance: number; readonly score: number }[];
    /** The factor in all parts, when they had to be scaled for a best score of 1. */
    readonly scale?: number;
  };
}

export interface MemoryBackendContext extends CallContext {
  readonly timeoutMs: number;
  /** Only for transactional backends. */
  readonly trx?: Transaction;
}

export interface StoredMemory {
  readonly id: string;
  /** The backend merged the content into an existing memory. */
  readonly deduplicated?: boolean;
}

export interface BackendMemory {
  readonly id: string;
  readonly content: string;
  readonly space?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly createdAt?: string;
}

export interface MemoryBackend extends MemoryBackendFacts {
  /** @throws BackendFailure */
  store(item: MemoryItem, ctx: MemoryBackendContext): Promise<StoredMemory>;
  storeMany?(items: readonly MemoryItem[], ctx: MemoryBackendContext): Promise<readonly StoredMemory[]>;
  search(
    search: MemorySearch,
    ctx: MemoryBackendContext,
  ): Promise<{ readonly hits: readonly MemoryHit[]; readonly unknownFilters?: readonly string[] }>;
  get?(id: string, ctx: MemoryBackendContext): Promise<BackendMemory | null>;
  /**
   * One page, newest first or in any other stable order. A memory stored meanwhile may be missed or listed twice.
   * @throws MortiseError `backend_list_unsupported` when the server does not support it; callers then read ids one by one.
   */
  list?(
    cursor: string | null,
    limit: number,
    ctx: MemoryBackendContext,
  ): Promise<{ readonly items: readonly BackendMemory[]; readonly next: string | null }>;
  find?(
    wanted: {
      readonly memoryKey: string;
      readonly space: string;
      readonly payloadSha: string;
      readonly content: string;
    },
    ctx: MemoryBackendContext,
  ): Promise<StoredMemory | null>;
  health(ctx: MemoryBackendContext): Promise<{ readonly ok: boolean; readonly detail: string }>;
}

/** A backend's error, thrown as plain data or as a `MortiseError` with these `details`. */
export interface BackendFailure {
  readonly code: 'backend_unavailable' | 'backend_failure' | 'backend_permanent';
  readonly message: string;
  readonly details: {
    readonly class: 'unavailable' | 'failure' | 'permanent';
    readonly status?: number;
    readonly retryAfterMs?: number;
    /** `unknown`: the request was sent, but its outcome is unknown. */
    readonly applied: 'no' | 'unknown';
    /** The problem as named in audit reasons. Defaults to `invalid_response` when there is no status either. */
    readonly problem?: 'connection_error' | 'timeout' | 'invalid_response' | 'content_too_long' | `api_error_${number}`;
  };
}
