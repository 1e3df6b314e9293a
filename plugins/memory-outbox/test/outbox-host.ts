import type { AuditRow, OutboxRow } from 'mortise/contracts/logbook';
import {
  type FakeOpenMemory,
  type FakeOpenMemoryOptions,
  startFakeOpenMemory,
} from 'mortise/contracts/memory-backend-openmemory/testing';
import type { CommandResult, Database } from 'mortise/sdk';
import { createTestHost, databaseProbe, type TestEngine, type TestHost } from 'mortise/sdk/testing';

type Json = Readonly<Record<string, unknown>>;

/** A platform with an OpenMemory server, whose own worker rests unless it is asked for. */
export interface OutboxHost {
  readonly host: TestHost;
  readonly server: FakeOpenMemory;
  readonly database: Database;
  store(text: string, more?: Json): Promise<Json>;
  /** Stores while the server refuses to. @returns the outbox id. */
  queue(text: string, more?: Json): Promise<number>;
  run(key: string, args?: readonly string[], options?: Json): Promise<CommandResult>;
  /** `memory outbox-worker --once` */
  once(options?: Json): Promise<CommandResult>;
  row(outboxId: number): Promise<OutboxRow>;
  /** Action and reason of every audit row of an outbox id, oldest first. */
  trail(outboxId: number): Promise<readonly string[]>;
  audits(outboxId: number): Promise<readonly AuditRow[]>;
  /** Makes a row due, whatever its next attempt was. */
  due(outboxId: number): Promise<void>;
  count(table: string, where?: string): Promise<number>;
  /** Throws for the first rule that does not hold. */
  expectInvariants(): Promise<void>;
  stop(): Promise<void>;
}

export interface OutboxHostOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly fake?: FakeOpenMemoryOptions;
  readonly server?: FakeOpenMemory;
  readonly dataDir?: string;
}

const schemas = ['identity', 'logbook', 'scm', 'analysis', 'governance'];

export async function startOutbox(
  engine: Pick<TestEngine, 'env'>,
  options: OutboxHostOptions = {},
): Promise<OutboxHost> {
  const server = options.server ?? (await startFakeOpenMemory(options.fake));
  const probe = databaseProbe(schemas);
  const host = await createTestHost({
    plugins: ['memory-outbox', 'memory-backend-openmemory', 'memory-backend-local'],
    env: { OPENMEMORY_BASE_URL: server.origin, MORTISE_OUTBOX_WORKER: 'false', ...options.env },
    database: engine.env,
    ...(options.dataDir === undefined ? {} : { dataDir: options.dataDir }),
    extra: [probe.plugin],
  });
  const { database } = probe;
  const { outbox } = host.service('logbook');

  const store = async (text: string, more: Json = {}): Promise<Json> => {
    const answer = await host.post('/memory/store', { payload_md: text, target_space: 'private:a', ...more });
    return (await answer.json()) as Json;
  };
  const run = (key: string, args: readonly string[] = [], given: Json = {}): Promise<CommandResult> =>
    host.points.call('command', key, (command, ctx) =>
      command.run({ args, options: given as Record<string, string>, json: true }, ctx),
    );
  const audits = async (outboxId: number) => {
    const { rows } = await host.service('audit').query({ outboxId: String(outboxId), limit: 1_000 });
    return [...rows].reverse();
  };
  return {
    host,
    server,
    database,
    store,
    async queue(text, more) {
      server.fail('add', { kind: 'success-false' });
      const { outbox_id } = await store(text, more);
      return Number(outbox_id);
    },
    run,
    once: (given = {}) => run('memory-outbox-worker', [], { once: true, ...given }),
    async row(outboxId) {
      const row = await outbox.get(outboxId);
      if (row === null) throw new Error(`There is no outbox row ${outboxId}.`);
      return row;
    },
    audits,
    trail: async (outboxId) => (await audits(outboxId)).map(({ action, reason }) => `${action} ${reason}`),
    async due(outboxId) {
      const past = database.codec.time(Date.now() - 60_000);
      await database.statement('update {logbook.outbox_memory} set next_attempt_at = ? where outbox_id = ?', [
        past,
        outboxId,
      ]);
    },
    async count(table, where = '1 = 1') {
      const { rows } = await database.statement<{ n: number }>(`select count(*) as n from {${table}} where ${where}`);
      return rows[0]?.n ?? -1;
    },
    async expectInvariants() {
      const { invariants } = await host.service('logbook').reliability.figures();
      const broken = invariants.filter(({ ok }) => !ok);
      if (broken.length > 0) throw new Error(`Violated: ${JSON.stringify(broken)}`);
    },
    async stop() {
      await host.stop();
      if (options.server === undefined) await server.stop();
    },
  };
}
