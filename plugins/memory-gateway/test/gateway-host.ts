import type { AuditRow } from 'mortise/contracts/logbook';
import type { Database } from 'mortise/sdk';
import {
  createTestHost,
  databaseProbe,
  type TestEngine,
  type TestHost,
  type TestHostOptions,
} from 'mortise/sdk/testing';
import { type FakeBackend, fakeBackend } from './fake-backend.js';

export type Json = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

/** A booted platform with the memory gateway, and the few calls its tests make. */
export interface GatewayHost {
  readonly host: TestHost;
  /** The memory backend behind it. */
  readonly fake: FakeBackend;
  /** The gateway's own database, for what no API shows. */
  readonly database: Database;
  store(body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  query(body: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** The audit rows of an answer. */
  audits(answer: Answer): Promise<readonly AuditRow[]>;
  /** Switches team writing on with exactly this policy, or off. */
  govern(teamWriteEnabled: boolean, policy?: Json): Promise<void>;
  count(table: string, where?: string): Promise<number>;
  stop(): Promise<void>;
}

const schemas = ['identity', 'logbook', 'scm', 'analysis', 'governance'];

async function answerOf(response: Response): Promise<Answer> {
  return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
}

/** Every policy key, so that one test's policy does not outlive it. */
const cleared = Object.fromEntries(
  [
    'allowlist_users',
    'allowed_kinds',
    'require_evidence',
    'evidence_mode',
    'max_chars',
    'bulk_mode',
    'bulk_max_chars',
    'dedup',
    'content_guard',
  ].map((key) => [key, null]),
);

export async function startGateway(
  engine: Pick<TestEngine, 'env'>,
  options: TestHostOptions = {},
): Promise<GatewayHost> {
  const fake = fakeBackend();
  const probe = databaseProbe(schemas);
  const host = await createTestHost({
    plugins: ['memory-gateway'],
    database: engine.env,
    ...options,
    config: { 'memory-gateway': { memory_backend: 'fake', ...options.config?.['memory-gateway'] } },
    extra: [fake.plugin, ...(options.extra ?? []), probe.plugin],
  });
  const { database } = probe;
  return {
    host,
    fake,
    database,
    store: async (body, headers) => answerOf(await host.post('/memory/store', body, headers)),
    query: async (body, headers) => answerOf(await host.post('/memory/query', body, headers)),
    get: async (path, headers) => answerOf(await host.fetch(path, headers === undefined ? {} : { headers })),
    async audits({ body }) {
      const { rows } = await host.service('audit').query({ correlationId: String(body.correlation_id) });
      return rows;
    },
    async govern(teamWriteEnabled, policy = {}) {
      const patch = { teamWriteEnabled, policy: { ...cleared, ...policy } };
      await host.service('logbook').settings.update('default', patch, { updatedBy: 'test' });
    },
    async count(table, where = '1 = 1') {
      const { rows } = await database.statement<{ n: number }>(`select count(*) as n from {${table}} where ${where}`);
      return rows[0]?.n ?? -1;
    },
    stop: () => host.stop(),
  };
}
