import { expect } from 'chai';
import type { Json } from 'mortise/contracts/memory-gateway/testing';
import type { TestHostOptions } from 'mortise/sdk/testing';
import type { RemoteMemory } from '../remote-memory.js';
import { failingTools } from './failing-tools.js';

/** A reason of JSON-RPC errors, the other members of the error, and a call that causes it. */
export interface ErrorRow {
  readonly reason: string;
  readonly code: number;
  readonly category: 'protocol' | 'validation' | 'business' | 'dependency' | 'internal';
  readonly retryable?: true;
  /** HTTP status, 200 when absent. */
  readonly status?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The raw body, for one that is not a JSON-RPC request. */
  readonly body?: string;
  readonly details?: Json;
  /** A tool result in the stateless protocol revision, not a protocol error. */
  readonly isAnswer?: true;
  /** Makes the platform fail. @returns a function that undoes it */
  prepare?(memory: RemoteMemory): Promise<() => Promise<unknown>>;
}

interface ErrorGroup {
  readonly platform: string;
  readonly options: TestHostOptions;
  readonly rows: readonly ErrorRow[];
}

const call = (name: string, args: unknown = {}) => ({ method: 'tools/call', params: { name, arguments: args } });
const invalid = { code: -32602, category: 'validation' } as const;
const refused = { ...invalid, isAnswer: true } as const;
const dependency = { code: -32001, category: 'dependency' } as const;
const business = { code: -32002, category: 'business' } as const;
const find = call('memory_query', { query: 'x', spaces: ['private:alice'] });

const protocol: readonly ErrorRow[] = [
  { reason: 'PARSE_ERROR', code: -32700, category: 'protocol', status: 400, body: '{' },
  { reason: 'INVALID_REQUEST', code: -32600, category: 'protocol', status: 400, body: '{"jsonrpc":"2.0","id":1}' },
  {
    reason: 'SESSION_NOT_FOUND',
    code: -32600,
    category: 'protocol',
    status: 404,
    method: 'tools/list',
    headers: { 'mcp-session-id': `mcps_${'0'.repeat(32)}` },
  },
  {
    reason: 'METHOD_NOT_FOUND',
    code: -32601,
    category: 'protocol',
    method: 'nope',
    details: { method: 'nope' },
  },
];

const validation: readonly ErrorRow[] = [
  { reason: 'MISSING_REQUIRED_PARAM', ...refused, ...call('memory_store'), details: { path: '/payload_md' } },
  { reason: 'MISSING_REQUIRED_PARAM', ...invalid, method: 'tools/call', params: {}, details: { path: '/name' } },
  { reason: 'INVALID_PARAM_TYPE', ...refused, ...call('memory_query', { query: 5 }), details: { path: '/query' } },
  { reason: 'INVALID_PARAM_TYPE', ...invalid, ...call('memory_query', []), details: { path: '/arguments' } },
  {
    reason: 'INVALID_PARAM_VALUE',
    ...refused,
    ...call('memory_query', { query: 'x', top_k: 0 }),
    details: { path: '/top_k' },
  },
  { reason: 'UNKNOWN_TOOL', ...invalid, ...call('nope'), details: { tool: 'nope' } },
];

const internal: readonly ErrorRow[] = [
  { reason: 'UNHANDLED_EXCEPTION', code: -32603, category: 'internal', ...call('breaks') },
  { reason: 'TOOL_EXECUTOR_NOT_REGISTERED', code: -32603, category: 'internal', ...call('never_started') },
  { reason: 'TOOL_TIMEOUT', code: -32000, category: 'internal', ...call('sleeps') },
];

/** Renames the table that a query falls back on. */
async function breakFallback({ database }: RemoteMemory): Promise<() => Promise<void>> {
  const rename = async (from: string, to: string) => {
    const shown = database.dialect === 'sqlite' ? [`analysis_${from}`, `analysis_${to}`] : [`analysis.${from}`, to];
    await database.statement(`alter table ${shown[0]} rename to ${shown[1]}`);
  };
  await rename('knowledge_candidates', 'hidden_candidates');
  return () => rename('hidden_candidates', 'knowledge_candidates');
}

const withoutFallback = (fail: (memory: RemoteMemory) => Promise<unknown>) => async (memory: RemoteMemory) => {
  const restore = await breakFallback(memory);
  await fail(memory);
  return async () => {
    await memory.server.start();
    memory.server.clearFaults();
    await memory.host.service('memory').health({});
    await restore();
    // So that the failures of one row do not count for the next.
    expect((await memory.query({ query: 'x', spaces: ['private:a'] })).body.degraded).to.equal(false);
  };
};

const outages: readonly ErrorRow[] = [
  ...([503, 429, 400] as const).map((status) => ({
    reason: 'OPENMEMORY_API_ERROR',
    ...dependency,
    ...(status === 400 ? {} : { retryable: true as const }),
    ...find,
    details: { service: 'openmemory', status },
    prepare: withoutFallback(async ({ server }) => server.failAlways('search', { kind: 'status', status })),
  })),
  {
    reason: 'OPENMEMORY_CONNECTION_FAILED',
    ...dependency,
    retryable: true,
    ...find,
    details: { service: 'openmemory' },
    prepare: withoutFallback(({ server }) => server.stop()),
  },
  {
    reason: 'OPENMEMORY_UNAVAILABLE',
    ...dependency,
    retryable: true,
    ...find,
    details: { service: 'openmemory' },
    prepare: withoutFallback(async (memory) => {
      await memory.server.stop();
      for (let n = 0; n < 5; n += 1) await memory.query({ query: 'x', spaces: ['private:a'] });
    }),
  },
];

const aliceKey = { authorization: 'Bearer alice-key-0123456789' };
const refusals: readonly ErrorRow[] = [
  {
    reason: 'ACTOR_MISMATCH',
    ...business,
    headers: aliceKey,
    ...call('memory_store', { payload_md: 'As bob.', actor_user_id: 'bob' }),
  },
  {
    reason: 'SPACE_FORBIDDEN',
    ...business,
    headers: aliceKey,
    ...call('memory_store', { payload_md: 'To bob.', target_space: 'private:bob' }),
    details: { space: 'private:bob' },
  },
  {
    reason: 'SPACE_FORBIDDEN',
    ...business,
    headers: aliceKey,
    ...call('memory_query', { query: 'x', spaces: ['team:default', 'private:bob'] }),
    details: { space: 'private:bob' },
  },
  {
    reason: 'ACTOR_UNKNOWN',
    ...business,
    headers: { authorization: 'Bearer open-key-0123456789' },
    ...call('evidence_upload', { content: 'x', content_type: 'text/plain', actor_user_id: 'eve' }),
  },
  {
    reason: 'POLICY_REJECT',
    ...business,
    headers: aliceKey,
    ...call('evidence_upload', { content: 'forbidden', content_type: 'text/plain' }),
  },
  { reason: 'AUTH_FAILED', ...business, headers: aliceKey, ...call('refuses_auth') },
  { reason: 'GOVERNANCE_UPDATE_DENIED', ...business, headers: aliceKey, ...call('refuses_governance') },
  {
    reason: 'RATE_LIMITED',
    ...dependency,
    retryable: true,
    status: 429,
    headers: aliceKey,
    ...call('reliability_report'),
    prepare: async (memory) => {
      await memory.host.fetch('/reliability/report', { headers: aliceKey });
      return async () => {};
    },
  },
];

/** Every reason that a running platform reports, except those that only headers cause. */
export const errorGroups: readonly ErrorGroup[] = [
  { platform: 'as shipped', options: {}, rows: [...protocol, ...validation] },
  { platform: 'with tools that fail', options: { extra: failingTools }, rows: internal },
  {
    platform: 'whose backend fails',
    options: { env: { MORTISE_OPENMEMORY_QUERY_TIMEOUT_MS: '500' } },
    rows: outages,
  },
  {
    platform: 'with keys and limits',
    options: {
      extra: failingTools,
      env: {
        MORTISE_API_KEYS: JSON.stringify([
          { key: 'alice-key-0123456789', id: 'alice-key', actor: 'alice' },
          { key: 'open-key-0123456789', id: 'open-key' },
        ]),
        MORTISE_UNKNOWN_ACTOR_POLICY: 'reject',
        MORTISE_TOOL_RATE_LIMITS: '{"reliability_report":"1/3600"}',
      },
    },
    rows: refusals,
  },
];
