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

/** What the backend has under an id. */
export interface SeenMemory {
  readonly id: string;
  /** SHA-256 of its text. */
  readonly sha: string;
  readonly space: string | undefined;
  /** The key it was stored with, where it carries one. */
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
 * How a memory of the ledger differs from what the backend has under its id; undefined when it does not.
 *
 * @param isOthers whether a text is that of another memory of the ledger
 */
export function compareMemory(
  memory: LedgerMemory,
  seen: SeenMemory | undefined,
  isOthers: (sha: string) => boolean,
): BackendFinding | undefined {
  if (seen === undefined) return finding(memory, 'missing', null);
  if (seen.sha !== memory.payloadSha) return finding(memory, isOthers(seen.sha) ? 'merged' : 'altered', seen.sha);
  if (seen.space !== undefined && seen.space !== memory.space) return finding(memory, 'moved', seen.sha);
  return undefined;
}

/** A memory of the backend that was stored by us, and that the ledger does not know. */
export function extraMemory(seen: SeenMemory): BackendFinding {
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
