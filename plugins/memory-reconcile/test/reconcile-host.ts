import {
  type Json,
  type RemoteMemoryHost,
  type RemoteMemoryOptions,
  startRemoteMemoryHost,
} from 'mortise/contracts/memory-gateway/testing';
import type { CommandResult } from 'mortise/sdk';
import type { TestEngine } from 'mortise/sdk/testing';

/** A platform with an OpenMemory server (or the local backend), and direct access to its rows. */
export interface ReconcileHost extends Omit<RemoteMemoryHost, 'store'> {
  /** How a value violates a published schema. */
  schemaIssues(schema: Json, value: unknown): readonly unknown[];
  store(text: string): Promise<Json>;
  reconcile(options: Json): Promise<CommandResult>;
  /** Inserts an outbox row that has no audit row. */
  insert(columns: Json): Promise<number>;
  update(sql: string, ...bindings: readonly (string | number | null)[]): Promise<void>;
}

export async function startReconcile(engine: TestEngine, options: RemoteMemoryOptions = {}): Promise<ReconcileHost> {
  const memory = await startRemoteMemoryHost(engine, {
    plugins: ['admin', 'memory-reconcile', 'memory-outbox', 'memory-backend-openmemory', 'memory-backend-local'],
    ...options,
  });
  const { database, schemas } = memory;
  return {
    ...memory,
    schemaIssues: (schema, value) => schemas.compile(schema, { name: 'published schema' }).check(value),
    store: async (text) => (await memory.store({ payload_md: text, target_space: 'private:a' })).body,
    reconcile: (given) => memory.run('memory-reconcile', [], given),
    async insert(columns) {
      const all = { target_space: 'private:a', payload_md: 'By hand.', payload_sha: 'f'.repeat(64), ...columns };
      const names = Object.keys(all);
      const { rows } = await database.statement<{ outbox_id: number }>(
        `insert into {logbook.outbox_memory} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})
         returning outbox_id`,
        Object.values(all) as string[],
      );
      return rows[0]?.outbox_id ?? 0;
    },
    async update(sql, ...bindings) {
      await database.statement(sql, bindings);
    },
  };
}
