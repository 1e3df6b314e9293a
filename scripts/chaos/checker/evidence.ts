/** Input of the checker: the database's rows, the backend's journal, and what clients were promised. */
export interface Evidence {
  readonly dialect: 'sqlite' | 'postgres';
  readonly outbox: readonly OutboxRow[];
  readonly ledger: readonly LedgerRow[];
  readonly audits: readonly AuditRow[];
  readonly chain: readonly ChainLink[];
  readonly heads: readonly ChainHead[];
  /** Names of users. */
  readonly users: ReadonlySet<string>;
  /** Outbox id → audit rows that the lookup of invariant 4 finds. */
  readonly auditsFound: ReadonlyMap<string, number>;
  readonly journal: readonly JournalLine[];
  readonly clientRecords: readonly ClientRecord[];
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
  /** Version of the set of columns that the hash covers. */
  readonly hash_version: string;
}

/** The head of a chain. */
export interface ChainHead {
  readonly writer_id: string;
  readonly seq: string;
  readonly chain_sha: string;
}

/** One write that the backend applied. */
export interface JournalLine {
  /** `stored`: a new memory; `merged`: the content was discarded; `repeated`: it was already stored. */
  readonly as: string;
  readonly id: string;
  readonly content: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A client's request and what the response promised. */
export interface ClientRecord {
  readonly text: string;
  readonly requestedSpace: string;
  /** The space that the policy decides on. */
  readonly landing: string;
  /** The space named in the response; `landing` when it names none. */
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

/** A broken rule. */
export interface Violation {
  readonly rule: string;
  /** A sentence that names the row, memory or id. */
  readonly what: string;
}

/** Checks the evidence and yields a sentence per violation. */
export type Rule = (evidence: Evidence) => Iterable<string>;

/** Identity of a memory: its space and text. */
export function memoryOf(space: string, text: string): string {
  return `${space}\n${text}`;
}

/** The space in the backend's metadata. */
export function spaceOf({ metadata }: JournalLine): string {
  return typeof metadata.space === 'string' ? metadata.space : '';
}

/** The beginning of a text, enough to identify it. */
export function brief(text: string): string {
  return `"${text.slice(0, 40)}"`;
}

/** Items by key, in their order. */
export function groupBy<T>(items: Iterable<T>, keyOf: (item: T) => string | null): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key === null) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

type Json = Readonly<Record<string, unknown>>;

export function evidenceOf({ evidence_refs_json }: AuditRow): Json {
  const value: unknown = JSON.parse(evidence_refs_json);
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

/** Outbox id of an audit row as text; null when it has none. */
export function outboxIdOf(audit: AuditRow): string | null {
  const { outbox_id } = evidenceOf(audit);
  return outbox_id === undefined || outbox_id === null ? null : String(outbox_id);
}
