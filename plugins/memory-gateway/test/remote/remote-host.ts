import type { NewMemory } from 'mortise/contracts/logbook';
import { type RemoteMemoryHost, startRemoteMemoryHost } from 'mortise/contracts/memory-gateway/testing';
import type { TestEngine, TestHostOptions } from 'mortise/sdk/testing';

/** A platform whose memories go to a fake OpenMemory server. */
export interface RemoteHost extends RemoteMemoryHost {
  /** The ledger row of a memory, by its text. */
  ledger(text: string): Promise<LedgerState>;
}

interface LedgerState {
  readonly state: string;
  readonly backend_memory_id: string | null;
  readonly outbox_id: number | null;
}

export async function startRemote(engine: TestEngine, options: TestHostOptions = {}): Promise<RemoteHost> {
  const memory = await startRemoteMemoryHost(engine, {
    plugins: ['memory-gateway', 'memory-backend-openmemory'],
    config: { 'memory-gateway': { memory_backend: 'openmemory' } },
    ...options,
  });
  return {
    ...memory,
    async ledger(text) {
      const { rows } = await memory.database.statement<LedgerState>(
        'select state, backend_memory_id, outbox_id from {logbook.memories} where payload_md = ? order by seq desc',
        [text],
      );
      return rows[0] ?? { state: 'none', backend_memory_id: null, outbox_id: null };
    },
  };
}

/** The ledger row of a store that has begun and is not settled. */
export function writingMemory(
  text: string,
  more: Partial<NewMemory> & Pick<NewMemory, 'memoryKey' | 'auditId'>,
): NewMemory {
  return {
    space: 'private:a',
    payload: text,
    payloadSha: 'a'.repeat(64),
    payloadLength: text.length,
    metaSha: '',
    kind: null,
    meta: {},
    evidence: [],
    actorUserId: null,
    itemId: null,
    backend: 'openmemory',
    backendMemoryId: null,
    outboxId: null,
    correlationId: 'corr-0123456789abcdef',
    ...more,
  };
}
