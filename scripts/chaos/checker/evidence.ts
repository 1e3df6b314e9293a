/** What the checker looks at: rows as the database has them, the backend's own journal, and what clients were told. */
export interface Evidence {
  readonly dialect: 'sqlite' | 'postgres';
  readonly outbox: readonly OutboxRow[];
  readonly ledger: readonly LedgerRow[];
  readonly audits: readonly AuditRow[];
  readonly chain: readonly ChainLink[];
  readonly heads: readonly ChainHead[];
  /** Names of users. */
  readonly users: ReadonlySet<string>;
  /** Outbox id → audit rows that the look-up of invariant 4 finds. */
  readonly auditsFound: ReadonlyMap<string, number>;
  readonly journal: readonly JournalLine[];
  readonly told: readonly Told[];
}

/** Ids are decimal text on both databases. */
export interface OutboxRow {
  readonly outbox_id: string;
  readonly target_space: string;
  readonly payload_md: string;
  readonly status: string;
  readonly locked_by: string | null;
  readonly last_error: string | null;
  readonly dead_at: string | null;
  readonly memory_id: string | null;
  readonly memory_key: string | null;
  readonly kind: string | null;
  readonly actor_user_id: string | null;
  readonly item_id: string | null;
  /** JSON. */
  readonly meta_json: string;
  /** JSON. */
  readonly evidence_json: string;
}

export interface LedgerRow {
  readonly memory_key: string;
  readonly space: string;
  readonly payload_md: string | null;
  readonly kind: string | null;
  /** JSON. */
  readonly meta_json: string;
  /** JSON. */
  readonly evidence_json: string;
  readonly actor_user_id: string | null;
  readonly item_id: string | null;
  readonly state: string;
  readonly backend_memory_id: string | null;
  readonly outbox_id: string | null;
}

export interface AuditRow {
  readonly audit_id: string;
  /** ISO 8601, UTC, with milliseconds. */
  readonly created_at: string;
  readonly ts: string;
  readonly updated_at: string;
  readonly actor_user_id: string | null;
  readonly target_space: string | null;
  readonly payload_sha: string | null;
  readonly principal: string | null;
  readonly writer_id: string | null;
  readonly action: string | null;
  readonly reason: string | null;
  readonly status: string;
  readonly operation: string | null;
  readonly correlation_id: string | null;
  readonly memory_key: string | null;
  /** JSON. */
  readonly evidence_refs_json: string;
}

export interface ChainLink {
  readonly writer_id: string;
  readonly seq: string;
  readonly audit_id: string;
  readonly phase: string;
  readonly row_sha: string;
  readonly chain_sha: string;
  /** Which facts of the row its hash is of. */
  readonly hash_version: string;
}

/** Where a chain ended when it last grew. */
export interface ChainHead {
  readonly writer_id: string;
  readonly seq: string;
  readonly chain_sha: string;
}

/** One write that the backend applied. */
export interface JournalLine {
  /** `stored`: a new memory. `merged`: the content was thrown away. `repeated`: it was known. */
  readonly as: string;
  readonly id: string;
  readonly content: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** What a client asked for, and what it was told. */
export interface Told {
  readonly text: string;
  readonly requestedSpace: string;
  /** Where the policy lets it land. */
  readonly landing: string;
  /** Where the answer said that it landed; the landing for an answer that did not say. */
  readonly space: string;
  readonly kind: string;
  readonly meta: Readonly<Record<string, unknown>>;
  /** Objects as given, then each plain reference as `{uri, sha256: ''}`. */
  readonly evidence: readonly Readonly<Record<string, unknown>>[];
  readonly actor: string | null;
  readonly itemId: string | null;
  readonly correlationId: string | null;
  readonly promised: 'stored' | 'queued' | 'dead' | 'nothing';
  readonly memoryId: string | null;
  readonly outboxId: string | null;
}

/** Something that must not be. */
export interface Violation {
  readonly rule: string;
  /** A sentence that names the row, memory or id. */
  readonly what: string;
}

/** Looks at all of the evidence from one side. */
export type Rule = (evidence: Evidence) => Iterable<string>;

/** Which memory a row, a line or a wish is about: space and text. */
export function memoryOf(space: string, text: string): string {
  return `${space}\n${text}`;
}

/** The space that the backend was told. */
export function spaceOf({ metadata }: JournalLine): string {
  return typeof metadata.space === 'string' ? metadata.space : '';
}

/** The first words of a text: enough to tell which one it is. */
export function brief(text: string): string {
  return `"${text.slice(0, 40)}"`;
}
