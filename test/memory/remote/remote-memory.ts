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
  /** Stores while the backend meets a fault. */
  storeUnder(fault: Parameters<FakeOpenMemory['fail']>[1], text: string, more?: Json): Promise<Answer>;
}

/** @param beside further plugins */
export async function startRemoteMemory(
  engine: TestEngine,
  options: TestHostOptions = {},
  beside: readonly string[] = [],
): Promise<RemoteMemory> {
  const memory = await startRemoteMemoryHost(engine, {
    ...options,
    plugins: [...memoryPlugins, 'memory-backend-openmemory', 'memory-outbox', 'memory-reconcile', ...beside],
  });
  return {
    ...memory,
    storeUnder(fault, text, more) {
      memory.server.fail('add', fault);
      return memory.store({ payload_md: text, target_space: 'private:a', ...more });
    },
  };
}
