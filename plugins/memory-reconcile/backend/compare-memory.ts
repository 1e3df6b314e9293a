import type { LedgerMemory } from 'mortise/contracts/logbook';

export type FindingKind = 'missing' | 'altered' | 'merged' | 'moved' | 'extra';

/** A difference between the ledger and the backend. */
export interface BackendFinding {
  readonly memory_key: string | null;
  readonly backend_id: string;
  readonly space: string | null;
  readonly finding: FindingKind;
  /** SHA-256 of the text that should be there. */
  readonly expected_sha: string | null;
  readonly actual_sha: string | null;
  readonly created_at: string | null;
}

/** A memory as the backend returned it. */
export interface StoredCopy {
  readonly id: string;
  /** SHA-256 of its text. */
  readonly sha: string;
  readonly space: string | undefined;
  /** The memory key it was stored with, if any. */
  readonly memoryKey: string | undefined;
  readonly createdAt: string | undefined;
}

function finding(memory: LedgerMemory, kind: FindingKind, actual: string | null): BackendFinding {
  return {
    memory_key: memory.memoryKey,
    backend_id: memory.backendMemoryId ?? '',
    space: memory.space,
    finding: kind,
    expected_sha: memory.payloadSha,
    actual_sha: actual,
    created_at: memory.createdAt,
  };
}

/**
 * Compares a memory of the ledger with the backend's; undefined when they agree.
 *
 * @param isOtherMemory whether a hash is that of another memory of the ledger
 */
export function compareMemory(
  memory: LedgerMemory,
  seen: StoredCopy | undefined,
  isOtherMemory: (sha: string) => boolean,
): BackendFinding | undefined {
  if (seen === undefined) return finding(memory, 'missing', null);
  if (seen.sha !== memory.payloadSha) return finding(memory, isOtherMemory(seen.sha) ? 'merged' : 'altered', seen.sha);
  if (seen.space !== undefined && seen.space !== memory.space) return finding(memory, 'moved', seen.sha);
  return undefined;
}

/** The finding for a memory in the backend whose memory key is not in the ledger. */
export function extraMemory(seen: StoredCopy): BackendFinding {
  return {
    memory_key: seen.memoryKey ?? null,
    backend_id: seen.id,
    space: seen.space ?? null,
    finding: 'extra',
    expected_sha: null,
    actual_sha: seen.sha,
    created_at: seen.createdAt ?? null,
  };
}
