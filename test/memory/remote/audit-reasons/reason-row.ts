import type { AuditRow } from 'mortise/contracts/logbook';
import type { Answer, Json } from 'mortise/contracts/memory-gateway/testing';
import type { TestEngine, TestHostOptions } from 'mortise/sdk/testing';
import type { RemoteMemory } from '../remote-memory.js';

/** A reason in the audit trail, the rest of its row, and a request that causes it. */
export interface ReasonRow {
  readonly reason: string | RegExp;
  readonly action: AuditRow['action'];
  readonly operation: string;
  readonly source: 'gateway' | 'outbox_worker' | 'reconcile_outbox' | 'operator';
  readonly only?: TestEngine['dialect'];
  provoke(memory: RemoteMemory): Promise<unknown>;
}

/** Rows that need the same platform. */
export interface ReasonGroup {
  readonly platform: string;
  readonly options: TestHostOptions;
  readonly policy?: Json;
  /** Rows were changed by hand, as a crash leaves them. */
  readonly isTampered?: true;
  readonly rows: readonly ReasonRow[];
}

export const byStore = { operation: 'memory_store', source: 'gateway' } as const;
export const byWorker = { operation: 'outbox_flush', source: 'outbox_worker' } as const;

/** Stores in a private space. */
export function put(memory: RemoteMemory, text: string, more: Json = {}): Promise<Answer> {
  return memory.store({ payload_md: text, target_space: 'private:a', ...more });
}

/** Stores a memory that waits in the outbox. @returns its outbox id */
export async function queue(memory: RemoteMemory, text: string): Promise<number> {
  return Number((await memory.storeUnder({ kind: 'success-false' }, text)).body.outbox_id);
}

/** Makes all waiting rows due. */
export async function becomeDue({ database }: RemoteMemory): Promise<void> {
  const past = database.codec.time(Date.now() - 60_000);
  await database.statement('update {logbook.outbox_memory} set next_attempt_at = ?', [past]);
}
