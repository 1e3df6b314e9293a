import type { TransactionOption } from 'mortise/sdk';
import type { Attachments, Events, Items, PatchBlobs } from './items.js';
import type { Outbox } from './outbox.js';
import type { Invariant, ReconcileQueries } from './reconcile.js';

/** The service `logbook`: users, policy, memories and knowledge, shared by every memory feature. */
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
  /** Whether the user exists and is active. A positive answer is cached for at most a second, a negative one never. */
  isActive(userId: string, options?: TransactionOption): Promise<boolean>;
  /** @returns false when the user exists; it is not changed. */
  add(userId: string, user?: { readonly displayName?: string | null }, options?: TransactionOption): Promise<boolean>;
  /** @returns false when the user does not exist. */
  setActive(userId: string, active: boolean, options?: TransactionOption): Promise<boolean>;
  /** Ordered by user id. */
  list(options?: TransactionOption): Promise<readonly User[]>;
}

/** A project's memory policy as its administrator set it. */
export interface GovernanceSettings {
  readonly projectKey: string;
  readonly teamWriteEnabled: boolean;
  /** Only the values that were set; the reader applies defaults. */
  readonly policy: Readonly<Record<string, unknown>>;
  /** Starts at 1 and grows by one with each change. */
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
  /** Creates a row of defaults for a new project. At most a second old, and never older than a change made in this process. */
  get(projectKey: string): Promise<GovernanceSettings>;
  /** Locks the row, reads it uncached and merges the patch. An empty patch changes nothing, not even the version. */
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
 * State of a memory: `writing` the backend is being called; `active` stored in the backend; `queued` waiting in the
 * outbox; `dead` refused by the backend for good; `merged` the backend kept another memory instead; `void` never sent, or
 * lost by the backend with no copy of its text.
 */
export type LedgerState = 'writing' | 'active' | 'queued' | 'dead' | 'merged' | 'void';

/** Two memories with equal keys are duplicates. */
export interface DedupKey {
  readonly space: string;
  /** SHA-256 of the UTF-8 text, hex. */
  readonly payloadSha: string;
  /** SHA-256 of kind, meta, evidence and item, hex. */
  readonly metaSha: string;
}

/** The memory that is being written, queued or active under a {@link DedupKey}. */
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
  /** Null while the backend is being called. */
  readonly backendMemoryId: string | null;
  /** Decimal text, as the audit service gives it. */
  readonly auditId: string | null;
  readonly outboxId: number | null;
  readonly correlationId: string | null;
}

/** One row of the ledger. */
export interface LedgerMemory extends NewMemory {
  readonly seq: number;
  readonly state: LedgerState;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** All filters must match. */
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

/** A plain-text query: the phrase as typed, and its terms. */
export interface TextQuestion {
  readonly phrase: string;
  /** At most 8 count. */
  readonly terms: readonly string[];
}

/** A memory that the backend has stored. */
export interface DeliveredMemory {
  readonly memoryKey: string;
  readonly backend: string;
  readonly backendMemoryId: string;
  /** Deletes the text and keeps its hash: the text is in a remote backend. */
  readonly dropsPayload: boolean;
}

/**
 * The durable list of all memories, whatever backend stores them. Each change of state is one guarded statement: a row
 * that is not in a state the operation starts from stays unchanged, and the operation returns false or omits its key.
 */
export interface MemoryLedger {
  /** One entry per key, in order; null when no memory is being written, queued or active under it. */
  findDuplicates(keys: readonly DedupKey[], options?: TransactionOption): Promise<readonly (DedupHit | null)[]>;
  /**
   * Inserts the rows whose dedup key is free: as `active` when the backend has stored the memory and given it an id, else
   * as `writing`.
   * @returns the inserted memory keys; the others were duplicates.
   */
  insert(rows: readonly NewMemory[], options?: TransactionOption): Promise<ReadonlySet<string>>;
  /**
   * `writing` or `queued` to `active`: the backend has these memories. The rows name the backend and its ids from now on.
   * @returns the memory keys that were changed.
   */
  activate(delivered: readonly DeliveredMemory[], options?: TransactionOption): Promise<ReadonlySet<string>>;
  /**
   * `writing` or `active` to `queued`: the backend does not have the memory, or may not have it, and `outboxId` is the
   * pending outbox row that delivers it.
   */
  queue(memoryKey: string, outboxId: number, options?: TransactionOption): Promise<boolean>;
  /**
   * `writing` or `queued` to `dead`: the backend refused the memory for good, or too often, and `outboxId` is its dead
   * letter. The text stays, and the same memory may be stored again.
   */
  moveToDeadLetter(memoryKey: string, outboxId: number, options?: TransactionOption): Promise<boolean>;
  /**
   * `writing` or `queued` to `merged`: the backend kept another memory instead. Otherwise as {@link moveToDeadLetter}.
   */
  markMerged(memoryKey: string, outboxId: number, options?: TransactionOption): Promise<boolean>;
  /**
   * `dead` or `merged` to `queued`: the dead letter of the memory is pending again. Fails with the database's unique
   * violation when the same memory was stored again meanwhile: only one may be written, queued or active.
   */
  requeue(memoryKey: string, options?: TransactionOption): Promise<boolean>;
  /**
   * `active` to `void`: the backend lost the memory and its text is lost. The row no longer counts as a duplicate, so the
   * memory may be stored again.
   */
  markVoid(memoryKey: string, options?: TransactionOption): Promise<boolean>;
  /** Rows by key; unknown keys are omitted. */
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
  /** Whether a memory satisfies all filters. */
  matches(memory: LedgerMemory, filters: LedgerFilters): boolean;
  /** Rows by backend id; unknown ids are omitted. */
  byBackendIds(backend: string, ids: readonly string[], options?: TransactionOption): Promise<readonly LedgerMemory[]>;
  /** Newest rows of the spaces that are not void, including those without text. */
  newest(
    wanted: { readonly spaces: readonly string[]; readonly filters: LedgerFilters; readonly limit: number },
    options?: TransactionOption,
  ): Promise<readonly LedgerMemory[]>;
  /** Whether the spaces have a row in one of the states. */
  hasAny(spaces: readonly string[], states: readonly LedgerState[], options?: TransactionOption): Promise<boolean>;
  /** Rows whose text contains the phrase or one of its terms; best first, then newest. */
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

/** The figures of the reliability report, in wire form. */
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
  /** Counts of pending, sent and dead outbox rows. */
  outbox(): Promise<{
    readonly pending: number;
    readonly sent: number;
    readonly dead: number;
    readonly oldest_pending_age_seconds: number;
  }>;
  /** Counted in one database snapshot. */
  figures(): Promise<ReliabilityFigures>;
}
