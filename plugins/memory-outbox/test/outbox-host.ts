import {
  type Json,
  type RemoteMemoryHost,
  type RemoteMemoryOptions,
  startRemoteMemoryHost,
} from 'mortise/contracts/memory-gateway/testing';
import type { TestEngine } from 'mortise/sdk/testing';

/** A platform with an OpenMemory server, and shortcuts for the rows of its outbox. */
export interface OutboxHost extends Omit<RemoteMemoryHost, 'store'> {
  store(text: string, more?: Json): Promise<Json>;
  /** Stores while the server refuses to. @returns the outbox id. */
  queue(text: string, more?: Json): Promise<number>;
  /** Makes a row due, whatever its next attempt was. */
  due(outboxId: number): Promise<void>;
  /** Throws for the first rule that does not hold. */
  expectInvariants(): Promise<void>;
}

export async function startOutbox(
  engine: Pick<TestEngine, 'env'>,
  options: RemoteMemoryOptions = {},
): Promise<OutboxHost> {
  const memory = await startRemoteMemoryHost(engine, {
    plugins: ['memory-outbox', 'memory-backend-openmemory', 'memory-backend-local'],
    ...options,
  });
  const { host, server, database } = memory;
  const store = async (text: string, more: Json = {}): Promise<Json> =>
    (await memory.store({ payload_md: text, target_space: 'private:a', ...more })).body;
  return {
    ...memory,
    store,
    async queue(text, more) {
      server.fail('add', { kind: 'success-false' });
      const { outbox_id } = await store(text, more);
      return Number(outbox_id);
    },
    async due(outboxId) {
      const past = database.codec.time(Date.now() - 60_000);
      await database.statement('update {logbook.outbox_memory} set next_attempt_at = ? where outbox_id = ?', [
        past,
        outboxId,
      ]);
    },
    async expectInvariants() {
      const { invariants } = await host.service('logbook').reliability.figures();
      const broken = invariants.filter(({ ok }) => !ok);
      if (broken.length > 0) throw new Error(`Violated: ${JSON.stringify(broken)}`);
    },
  };
}
