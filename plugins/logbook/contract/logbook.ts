import type { TransactionOption } from 'mortise/sdk';
import type { Attachments, Events, Items, PatchBlobs } from './items.js';
import type { Outbox } from './outbox.js';
import type { Invariant, ReconcileQueries } from './reconcile.js';

/** The service `logbook`: the tables of people, policy, memories and knowledge that every memory feature shares. */
export interface LogbookService {
  readonly users: Users;
  readonly settings: GovernanceStore;
  readonly kv: KeyValues;
  readonly ledger: MemoryLedger;
  readonly outbox: Outbox;
  readonly reconcile: ReconcileQueries;
  readonly candidates: KnowledgeCandidates;
  readonly evidence: StoredEvidence;
  readonly items: Items;
  readonly events: Events;
  readonly attachments: Attachments;
  readonly patches: PatchBlobs;
  readonly reliability: Reliability;
}

export interface User {
  readonly userId: string;
  readonly displayName: string | null;
  readonly active: boolean;
  readonly roles: Readonly<Record<string, unknown>>;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface Users {
  /** Whether the user exists and is active. A yes is remembered for at most a second, a no is always asked again. */
  isActive(userId: string, options?: TransactionOption): Promise<boolean>;
  /** @returns false when the user exists already; then nothing is changed. */
  add(userId: string, user?: { readonly displayName?: string | null }, options?: TransactionOption): Promise<boolean>;
  /** @returns false when there is no such user. */
  setActive(userId: string, active: boolean, options?: TransactionOption): Promise<boolean>;
  /** In order of user id. */
  list(options?: TransactionOption): Promise<readonly User[]>;
}

/** What a project's administrator decided about memories. */
export interface GovernanceSettings {
  readonly projectKey: string;
  readonly teamWriteEnabled: boolean;
  /** As stored: only what was set. Defaults are the reader's. */
  readonly policy: Readonly<Record<string, unknown>>;
  /** 1 at first, one more with each change. */
  readonly version: number;
  readonly updatedBy: string | null;
  readonly updatedAt: string;
}

export interface GovernancePatch {
  readonly teamWriteEnabled?: boolean | undefined;
  /** Merged on top-level keys; null removes a key. */
  readonly policy?: Readonly<Record<string, unknown>> | undefined;
}

export interface GovernanceStore {
  /** The settings, with a row of defaults made for a new project. At most a second old, and never older than a change made here. */
  get(projectKey: string): Promise<GovernanceSettings>;
  /** Locks the row, reads it past the cache, merges the patch. A patch without members changes nothing, the version included. */
  update(
    projectKey: string,
    patch: GovernancePatch,
    options: TransactionOption & { readonly updatedBy: string | null },
  ): Promise<GovernanceSettings>;
}

export interface KeyValues {
  /** Undefined when there is no such key. */
  get(namespace: string, key: string, options?: TransactionOption): Promise<unknown>;
  /** `value` is any JSON. */
  set(namespace: string, key: string, value: unknown, options?: TransactionOption): Promise<void>;
}

/**
 * Life of a memory: `writing` the backend is being called; `active` it is in the backend; `queued` it waits in the
 * outbox; `dead` the backend refused it for good; `merged` the backend kept something else; `void` nothing was sent,
 * or the backend lost it and its text is nowhere any more.
 */
export type LedgerState = 'writing' | 'active' | 'queued' | 'dead' | 'merged' | 'void';

/** What makes two memories the same one. */
export interface DedupKey {
  readonly space: string;
  /** SHA-256 of the UTF-8 text, hex. */
  readonly payloadSha: string;
  /** SHA-256 of kind, meta, evidence and item, hex. */
  readonly metaSha: string;
}

/** A memory that is written, queued or active under a {@link DedupKey}. */
export interface DedupHit {
  readonly memoryKey: string;
  readonly state: 'writing' | 'active' | 'queued';
  readonly backendMemoryId: string | null;
  readonly outboxId: number | null;
}

export interface NewMemory extends DedupKey {
  readonly memoryKey: string;
  readonly payload: string | null;
  /** Code points of the text. */
  readonly payloadLength: number;
  readonly kind: string | null;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly evidence: readonly Readonly<Record<string, unknown>>[];
  readonly actorUserId: string | null;
  readonly itemId: number | null;
  readonly backend: string;
  readonly backendMemoryId: string | null;
  readonly state: LedgerState;
  /** Decimal text, as the audit service gives it. */
  readonly auditId: string | null;
  readonly outboxId: number | null;
  readonly correlationId: string | null;
}

/** One row of the ledger. */
export interface LedgerMemory extends NewMemory {
  readonly seq: number;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** All of them must hold. */
export interface LedgerFilters {
  readonly kind?: readonly string[] | undefined;
  /** ISO 8601, exclusive. */
  readonly createdAfter?: string | undefined;
  readonly createdBefore?: string | undefined;
  /** Substring of the URI of one of the evidence items. */
  readonly evidence?: string | undefined;
  /** Top-level members, compared as JSON. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  readonly actorUserId?: string | undefined;
}

/** A ledger row found by its text. */
export interface LedgerTextHit {
  readonly memory: LedgerMemory;
  /** 1 for the whole phrase, else the share of the terms that occur. */
  readonly score: number;
}

/** A question to plain text: the phrase as typed, and its words. */
export interface TextQuestion {
  readonly phrase: string;
  /** At most 8 count. */
  readonly terms: readonly string[];
}

/** How the life of a memory goes on. Members that are absent stay as they are. */
export interface LedgerChange {
  readonly memoryKey: string;
  readonly state: LedgerState;
  readonly backend?: string | undefined;
  readonly backendMemoryId?: string | undefined;
  readonly outboxId?: number | undefined;
  /** Keeps the hash alone: the text is in a remote backend. */
  readonly dropsPayload?: boolean | undefined;
}

/** The gateway's own durable list of memories, whatever backend holds them. */
export interface MemoryLedger {
  /** One answer for each key, in order; null where no memory is written, queued or active under it. */
  findDuplicates(keys: readonly DedupKey[], options?: TransactionOption): Promise<readonly (DedupHit | null)[]>;
  /**
   * Inserts the rows whose dedup key is free.
   * @returns the memory keys that were inserted; the others lost to a memory that came first.
   */
  insert(rows: readonly NewMemory[], options?: TransactionOption): Promise<ReadonlySet<string>>;
  /**
   * Changes the rows that are in one of the states `from`.
   * @returns the memory keys that were changed.
   */
  settle(
    from: readonly LedgerState[],
    changes: readonly LedgerChange[],
    options?: TransactionOption,
  ): Promise<ReadonlySet<string>>;
  /** Rows by their keys; unknown keys are left out. */
  byKeys(keys: readonly string[], options?: TransactionOption): Promise<readonly LedgerMemory[]>;
  /** Rows whose text has one of these hashes, whatever their state. */
  byPayloads(payloadShas: readonly string[], options?: TransactionOption): Promise<readonly LedgerMemory[]>;
  /** A page of rows in the order they were written. */
  page(
    wanted: {
      readonly after: number;
      readonly limit: number;
      readonly backend?: string | undefined;
      readonly states?: readonly LedgerState[] | undefined;
      readonly space?: string | undefined;
    },
    options?: TransactionOption,
  ): Promise<readonly LedgerMemory[]>;
  /** Whether a memory meets all of the filters. */
  matches(memory: LedgerMemory, filters: LedgerFilters): boolean;
  /** Rows by the backend's ids; unknown ids are left out. */
  byBackendIds(backend: string, ids: readonly string[], options?: TransactionOption): Promise<readonly LedgerMemory[]>;
  /** The newest rows of the spaces that are not void, those without a text included. */
  newest(
    wanted: { readonly spaces: readonly string[]; readonly filters: LedgerFilters; readonly limit: number },
    options?: TransactionOption,
  ): Promise<readonly LedgerMemory[]>;
  /** Whether the spaces have a row in one of the states. */
  hasAny(spaces: readonly string[], states: readonly LedgerState[], options?: TransactionOption): Promise<boolean>;
  /** Rows of the spaces and states whose text holds the phrase or one of its terms; best first, then newest. */
  searchText(
    wanted: {
      readonly question: TextQuestion;
      readonly spaces: readonly string[];
      readonly states: readonly LedgerState[];
      readonly filters: LedgerFilters;
      readonly limit: number;
    },
    options?: TransactionOption,
  ): Promise<readonly LedgerTextHit[]>;
}

/** Distilled knowledge that is not yet a memory. */
export interface KnowledgeCandidate {
  readonly candidateId: number;
  readonly kind: string | null;
  readonly title: string | null;
  readonly content: string;
  readonly confidence: string;
  /** URIs. */
  readonly evidenceRefs: readonly string[];
  readonly targetSpace: string | null;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly score: number;
}

export interface KnowledgeCandidates {
  /** Best first, then newest. Candidates without a space belong to shared spaces (`team:`, `org:`) only. */
  search(
    wanted: {
      readonly question: TextQuestion;
      readonly spaces: readonly string[];
      readonly kind?: readonly string[] | undefined;
      readonly evidence?: string | undefined;
      readonly limit: number;
    },
    options?: TransactionOption,
  ): Promise<readonly KnowledgeCandidate[]>;
}

export interface StoredEvidence {
  /** Hashes of the attachments that exist, by decimal attachment id. */
  attachmentHashes(ids: readonly string[], options?: TransactionOption): Promise<ReadonlyMap<string, string>>;
}

/** All figures of the reliability report that the database knows, as they are on the wire. */
export interface ReliabilityFigures {
  readonly outbox_stats: Readonly<Record<string, unknown>>;
  readonly audit_stats: Readonly<Record<string, unknown>>;
  readonly v2_evidence_stats: Readonly<Record<string, unknown>>;
  readonly content_intercept_stats: Readonly<Record<string, unknown>>;
  readonly memory_stats: Readonly<Record<string, unknown>>;
  readonly invariants: readonly Invariant[];
  /** ISO 8601 UTC. */
  readonly generated_at: string;
}

export interface Reliability {
  /** Rows that wait for a backend, that reached it, and that never will. */
  outbox(): Promise<{
    readonly pending: number;
    readonly sent: number;
    readonly dead: number;
    readonly oldest_pending_age_seconds: number;
  }>;
  /** Counted in one snapshot of the database. */
  figures(): Promise<ReliabilityFigures>;
}
