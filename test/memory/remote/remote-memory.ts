import type { FakeOpenMemory } from 'mortise/contracts/memory-backend-openmemory/testing';
import {
  type Answer,
  type Json,
  type RemoteMemoryHost,
  startRemoteMemoryHost,
} from 'mortise/contracts/memory-gateway/testing';
import type { TestEngine, TestHostOptions } from 'mortise/sdk/testing';
import { memoryPlugins } from '../memory-host.js';

/** The platform with a backend behind a socket, and an outbox whose worker runs only on request. */
export interface RemoteMemory extends RemoteMemoryHost {
  /** Stores a memory while the backend has a fault. */
  storeUnder(fault: Parameters<FakeOpenMemory['fail']>[1], text: string, overrides?: Json): Promise<Answer>;
}

/** @param more further plugins */
export async function startRemoteMemory(
  engine: TestEngine,
  options: TestHostOptions = {},
  more: readonly string[] = [],
): Promise<RemoteMemory> {
  const memory = await startRemoteMemoryHost(engine, {
    ...options,
    plugins: [...memoryPlugins, 'memory-backend-openmemory', 'memory-outbox', 'memory-reconcile', ...more],
  });
  return {
    ...memory,
    storeUnder(fault, text, overrides) {
      memory.server.fail('add', fault);
      return memory.store({ payload_md: text, target_space: 'private:a', ...overrides });
    },
  };
}
