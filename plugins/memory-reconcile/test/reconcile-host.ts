import {
  type FakeOpenMemory,
  type FakeOpenMemoryOptions,
  startFakeOpenMemory,
} from 'mortise/contracts/memory-backend-openmemory/testing';
import type { CommandResult, Database } from 'mortise/sdk';
import { createTestHost, databaseProbe, type TestEngine, type TestHost } from 'mortise/sdk/testing';

type Json = Readonly<Record<string, unknown>>;

/** A platform with an OpenMemory server (or the local backend), and what a look at its books needs. */
export interface ReconcileHost {
  readonly host: TestHost;
  readonly server: FakeOpenMemory;
  readonly database: Database;
  /** What a published schema has against a value. */
  schemaIssues(schema: Json, value: unknown): readonly unknown[];
  store(text: string): Promise<Json>;
  reconcile(options: Json): Promise<CommandResult>;
  deliver(): Promise<CommandResult>;
  /** An outbox row that was made by hand, and has no audit row. */
  insert(columns: Json): Promise<number>;
  update(sql: string, ...bindings: readonly (string | number | null)[]): Promise<void>;
  reasons(outboxId: number): Promise<readonly string[]>;
  count(table: string, where?: string): Promise<number>;
  stop(): Promise<void>;
}

const schemas = ['identity', 'logbook', 'scm', 'analysis', 'governance'];

export interface ReconcileHostOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly fake?: FakeOpenMemoryOptions;
}

export async function startReconcile(engine: TestEngine, options: ReconcileHostOptions = {}): Promise<ReconcileHost> {
  const server = await startFakeOpenMemory(options.fake);
  const probe = databaseProbe(schemas);
  const host = await createTestHost({
    plugins: ['admin', 'memory-reconcile', 'memory-outbox', 'memory-backend-openmemory', 'memory-backend-local'],
    env: { OPENMEMORY_BASE_URL: server.origin, MORTISE_OUTBOX_WORKER: 'false', ...options.env },
    database: engine.env,
    extra: [probe.plugin],
  });
  const { database, compiler } = probe;
  const run = (key: string, given: Json): Promise<CommandResult> =>
    host.points.call('command', key, (command, ctx) =>
      command.run({ args: [], options: given as Record<string, string>, json: true }, ctx),
    );
  return {
    host,
    server,
    database,
    schemaIssues: (schema, value) => compiler.compile(schema, { name: 'published schema' }).check(value),
    async store(text) {
      const answer = await host.post('/memory/store', { payload_md: text, target_space: 'private:a' });
      return (await answer.json()) as Json;
    },
    reconcile: (given) => run('memory-reconcile', given),
    deliver: () => run('memory-outbox-worker', { once: true }),
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
    async reasons(outboxId) {
      const { rows } = await host.service('audit').query({ outboxId: String(outboxId), limit: 1_000 });
      return rows.map(({ action, reason }) => `${action} ${reason}`).reverse();
    },
    async count(table, where = '1 = 1') {
      const { rows } = await database.statement<{ n: number }>(`select count(*) as n from {${table}} where ${where}`);
      return rows[0]?.n ?? -1;
    },
    async stop() {
      await host.stop();
      await server.stop();
    },
  };
}
