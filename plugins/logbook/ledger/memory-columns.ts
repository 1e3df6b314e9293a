import type { LedgerMemory, LedgerState } from 'mortise/contracts/logbook';
import type { Database } from 'mortise/sdk';

/** A row of `logbook.memories` as the database returns it. */
export interface MemoryColumns {
  readonly seq: number;
  readonly memory_key: string;
  readonly space: string;
  readonly payload_md: string | null;
  readonly payload_sha: string;
  readonly payload_len: number | null;
  readonly meta_sha: string;
  readonly kind: string | null;
  readonly meta_json: string;
  readonly evidence_json: string;
  readonly actor_user_id: string | null;
  readonly item_id: number | null;
  readonly backend: string;
  readonly backend_memory_id: string | null;
  readonly state: LedgerState;
  readonly audit_id: number | null;
  readonly outbox_id: number | null;
  readonly correlation_id: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

export const memoryColumns = `seq, memory_key, space, payload_md, payload_sha, payload_len, meta_sha, kind, meta_json,
  evidence_json, actor_user_id, item_id, backend, backend_memory_id, state, audit_id, outbox_id, correlation_id,
  created_at, updated_at`;

export function memoryOf({ codec }: Database, row: MemoryColumns): LedgerMemory {
  return {
    seq: row.seq,
    memoryKey: row.memory_key,
    space: row.space,
    payload: row.payload_md,
    payloadSha: row.payload_sha,
    payloadLength: row.payload_len ?? 0,
    metaSha: row.meta_sha,
    kind: row.kind,
    meta: row.meta_json === '{}' ? {} : codec.parseJson<Record<string, unknown>>(row.meta_json),
    evidence: row.evidence_json === '[]' ? [] : codec.parseJson<Record<string, unknown>[]>(row.evidence_json),
    actorUserId: row.actor_user_id,
    itemId: row.item_id,
    backend: row.backend,
    backendMemoryId: row.backend_memory_id,
    state: row.state,
    auditId: row.audit_id === null ? null : String(row.audit_id),
    outboxId: row.outbox_id,
    correlationId: row.correlation_id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
