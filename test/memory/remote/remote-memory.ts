import type { OutboxRow } from 'mortise/contracts/logbook';
import { type FakeOpenMemory, startFakeOpenMemory } from 'mortise/contracts/memory-backend-openmemory/testing';
import type { CommandResult } from 'mortise/sdk';
import type { TestEngine, TestHostOptions } from 'mortise/sdk/testing';
import { type Answer, type Json, type MemoryHost, memoryPlugins, startMemory } from '../memory-host.js';

/** The platform with a backend at the other end of a socket, and an outbox whose worker rests unless it is asked for. */
export interface RemoteMemory extends MemoryHost {
  readonly server: FakeOpenMemory;
  /** Stores while the backend meets a fault. */
  storeUnder(fault: Parameters<FakeOpenMemory['fail']>[1], text: string, more?: Json): Promise<Answer>;
  command(key: string, args?: readonly string[], options?: Json): Promise<CommandResult>;
  /** Delivers one batch. */
  deliver(options?: Json): Promise<CommandResult>;
  outboxRow(outboxId: unknown): Promise<OutboxRow>;
}

/** @param beside further plugins */
export async function startRemoteMemory(
  engine: TestEngine,
  options: TestHostOptions = {},
  beside: readonly string[] = [],
): Promise<RemoteMemory> {
  const server = await startFakeOpenMemory();
  const memory = await startMemory(engine, {
    ...options,
    plugins: [...memoryPlugins, 'memory-backend-openmemory', 'memory-outbox', 'memory-reconcile', ...beside],
    env: { OPENMEMORY_BASE_URL: server.origin, MORTISE_OUTBOX_WORKER: 'false', ...options.env },
  });
  const command: RemoteMemory['command'] = (key, args = [], given = {}) =>
    memory.host.points.call('command', key, (found, ctx) =>
      found.run({ args, options: given as Record<string, string>, json: true }, ctx),
    );
  return {
    ...memory,
    server,
    storeUnder(fault, text, more) {
      server.fail('add', fault);
      return memory.store({ payload_md: text, target_space: 'private:a', ...more });
    },
    command,
    deliver: (given) => command('memory-outbox-worker', [], { once: true, ...given }),
    async outboxRow(outboxId) {
      const row = await memory.host.service('logbook').outbox.get(Number(outboxId));
      if (row === null) throw new Error(`There is no outbox row ${String(outboxId)}.`);
      return row;
    },
    async stop() {
      await memory.stop();
      await server.stop();
    },
  };
}
