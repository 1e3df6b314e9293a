import type { AuditRow, OutboxRow } from 'mortise/contracts/logbook';
import {
  type FakeOpenMemory,
  type FakeOpenMemoryOptions,
  startFakeOpenMemory,
} from 'mortise/contracts/memory-backend-openmemory/testing';
import type { CommandResult, Database, SchemasService } from 'mortise/sdk';
import {
  createTestHost,
  databaseProbe,
  type TestEngine,
  type TestHost,
  type TestHostOptions,
} from 'mortise/sdk/testing';

export type Json = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

export async function answerOf(response: Response): Promise<Answer> {
  return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
}

type HeaderList = Readonly<Record<string, string>>;

/** A test host with the memory gateway, and the calls that tests make. */
export interface MemoryHost {
  readonly host: TestHost;
  /** Direct access to the tables of the memory plugins. */
  readonly database: Database;
  readonly schemas: SchemasService;
  store(body: unknown, headers?: HeaderList): Promise<Answer>;
  query(body: unknown, headers?: HeaderList): Promise<Answer>;
  get(path: string, headers?: HeaderList): Promise<Answer>;
  /** `tools/call` over JSON-RPC: the result object, or the error. */
  call(name: string, args: Json): Promise<{ readonly result?: Json; readonly error?: Json }>;
  /** Runs a CLI command inside the host. */
  run(key: string, args?: readonly string[], options?: Json): Promise<CommandResult>;
  /** The audit rows of an answer. */
  audits(answer: Answer): Promise<readonly AuditRow[]>;
  /** Rows of a table, e.g. `logbook.memories`, that meet a condition with at most one binding. */
  count(table: string, where?: string, binding?: unknown): Promise<number>;
  stop(): Promise<void>;
}

export async function startMemoryHost(engine: Pick<TestEngine, 'env'>, options: TestHostOptions): Promise<MemoryHost> {
  const probe = databaseProbe(['identity', 'logbook', 'scm', 'analysis', 'governance']);
  const host = await createTestHost({
    database: engine.env,
    ...options,
    extra: [...(options.extra ?? []), probe.plugin],
  });
  const { database, compiler } = probe;
  return {
    host,
    database,
    schemas: compiler,
    store: async (body, headers) => answerOf(await host.post('/memory/store', body, headers)),
    query: async (body, headers) => answerOf(await host.post('/memory/query', body, headers)),
    get: async (path, headers) => answerOf(await host.fetch(path, headers && { headers })),
    async call(name, args) {
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
      const response = (await (await host.post('/mcp', body)).json()) as {
        readonly result?: { readonly content: readonly { readonly text: string }[] };
        readonly error?: Json;
      };
      if (response.result === undefined) return { error: response.error ?? {} };
      return { result: JSON.parse(response.result.content[0]?.text ?? '') as Json };
    },
    run: (key, args = [], given = {}) =>
      host.points.call('command', key, (command, ctx) =>
        command.run({ args, options: given as Record<string, string>, json: true }, ctx),
      ),
    async audits({ body }) {
      return (await host.service('audit').query({ correlationId: String(body.correlation_id) })).rows;
    },
    async count(table, where = '1 = 1', binding) {
      const { rows } = await database.statement<{ n: number }>(
        `select count(*) as n from {${table}} where ${where}`,
        binding === undefined ? [] : [String(binding)],
      );
      return rows[0]?.n ?? -1;
    },
    stop: () => host.stop(),
  };
}

/** A memory host whose backend is a fake OpenMemory server. Its outbox worker runs only on request. */
export interface RemoteMemoryHost extends MemoryHost {
  readonly server: FakeOpenMemory;
  /** Delivers one batch: `memory outbox-worker --once`. */
  deliver(options?: Json): Promise<CommandResult>;
  /** @throws Error for an unknown id */
  outboxRow(outboxId: unknown): Promise<OutboxRow>;
  /** The audit rows of an outbox id, oldest first. */
  outboxAudits(outboxId: number): Promise<readonly AuditRow[]>;
  /** Action and reason of every audit row of an outbox id, oldest first. */
  trail(outboxId: number): Promise<readonly string[]>;
}

export interface RemoteMemoryOptions extends TestHostOptions {
  readonly fake?: FakeOpenMemoryOptions;
  /** A running server, which `stop` does not stop. */
  readonly server?: FakeOpenMemory;
}

export async function startRemoteMemoryHost(
  engine: Pick<TestEngine, 'env'>,
  { fake, server: given, env, ...options }: RemoteMemoryOptions,
): Promise<RemoteMemoryHost> {
  const server = given ?? (await startFakeOpenMemory(fake));
  const memory = await startMemoryHost(engine, {
    ...options,
    env: { OPENMEMORY_BASE_URL: server.origin, MORTISE_OUTBOX_WORKER: 'false', ...env },
  });
  const { host } = memory;
  const outboxAudits = async (outboxId: number) =>
    [...(await host.service('audit').query({ outboxId: String(outboxId), limit: 1_000 })).rows].reverse();
  return {
    ...memory,
    server,
    deliver: (more) => memory.run('memory-outbox-worker', [], { once: true, ...more }),
    async outboxRow(outboxId) {
      const row = await host.service('logbook').outbox.get(Number(outboxId));
      if (row === null) throw new Error(`There is no outbox row ${String(outboxId)}.`);
      return row;
    },
    outboxAudits,
    trail: async (outboxId) => (await outboxAudits(outboxId)).map(({ action, reason }) => `${action} ${reason}`),
    async stop() {
      await memory.stop();
      if (given === undefined) await server.stop();
    },
  };
}
