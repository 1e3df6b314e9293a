import type { AuditRow } from 'mortise/contracts/logbook';
import type { Database, SchemasService } from 'mortise/sdk';
import {
  createTestHost,
  databaseProbe,
  type TestEngine,
  type TestHost,
  type TestHostOptions,
} from 'mortise/sdk/testing';

/** Every plugin that a memory passes through. */
export const memoryPlugins = ['memory-gateway', 'memory-backend-local', 'evidence-store', 'mcp-server'];

export type Json = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

export async function answerOf(response: Response): Promise<Answer> {
  return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
}

export const results = ({ body }: Answer): readonly Json[] => body.results as readonly Json[];
export const contents = (answer: Answer): readonly unknown[] => results(answer).map(({ content }) => content);

/** The audit rows of the request that was answered so. */
export async function auditsOf({ host }: MemoryHost, { body }: Answer): Promise<readonly AuditRow[]> {
  return (await host.service('audit').query({ correlationId: String(body.correlation_id) })).rows;
}

/** The platform with all that memories need, as it is shipped. */
export interface MemoryHost {
  readonly host: TestHost;
  /** The database past every API. */
  readonly database: Database;
  readonly schemas: SchemasService;
  store(body: unknown): Promise<Answer>;
  query(body: unknown): Promise<Answer>;
  get(path: string): Promise<Answer>;
  /** Rows of a table, e.g. `logbook.memories`, that meet a condition with one binding. */
  count(table: string, where?: string, binding?: unknown): Promise<number>;
  /** `tools/call` over JSON-RPC: the result object, or the error. */
  call(name: string, args: Json): Promise<{ readonly result?: Json; readonly error?: Json }>;
  stop(): Promise<void>;
}

export async function startMemory(engine: Pick<TestEngine, 'env'>, options: TestHostOptions = {}): Promise<MemoryHost> {
  const probe = databaseProbe(['identity', 'logbook', 'scm', 'analysis', 'governance']);
  const host = await createTestHost({
    plugins: memoryPlugins,
    database: engine.env,
    ...options,
    extra: [...(options.extra ?? []), probe.plugin],
  });
  const { database, compiler } = probe;
  return {
    host,
    database,
    schemas: compiler,
    store: async (body) => answerOf(await host.post('/memory/store', body)),
    query: async (body) => answerOf(await host.post('/memory/query', body)),
    get: async (path) => answerOf(await host.fetch(path)),
    async count(table, where = '1 = 1', binding) {
      const { rows } = await database.statement<{ n: number }>(
        `select count(*) as n from {${table}} where ${where}`,
        binding === undefined ? [] : [String(binding)],
      );
      return rows[0]?.n ?? -1;
    },
    async call(name, args) {
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
      const response = (await (await host.post('/mcp', body)).json()) as {
        readonly result?: { readonly content: readonly { readonly text: string }[] };
        readonly error?: Json;
      };
      if (response.result === undefined) return { error: response.error ?? {} };
      return { result: JSON.parse(response.result.content[0]?.text ?? '') as Json };
    },
    stop: () => host.stop(),
  };
}
