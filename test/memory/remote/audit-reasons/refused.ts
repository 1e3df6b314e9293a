import type { RemoteMemory } from '../remote-memory.js';
import { byStore, type ReasonGroup, type ReasonRow } from './reason-row.js';

const aliceKey = { authorization: 'Bearer alice-key-0123456789' };
const gate = { operation: 'gate', source: 'gateway' } as const;

const keyedRows: readonly ReasonRow[] = [
  {
    ...byStore,
    reason: 'actor_mismatch',
    action: 'reject',
    provoke: (memory) => memory.host.post('/memory/store', { payload_md: 'As bob.', actor_user_id: 'bob' }, aliceKey),
  },
  {
    ...byStore,
    reason: 'space_forbidden',
    action: 'reject',
    provoke: (memory) =>
      memory.host.post('/memory/store', { payload_md: 'To bob.', target_space: 'private:bob' }, aliceKey),
  },
  {
    ...gate,
    reason: 'space_forbidden',
    action: 'reject',
    provoke: (memory) => memory.host.post('/memory/query', { query: 'x', spaces: ['private:bob'] }, aliceKey),
  },
  ...[
    ['auth_failed:/memory/store', '/memory/store', {}],
    ['origin_refused:/memory/query', '/memory/query', { ...aliceKey, origin: 'http://evil.example' }],
  ].map(([reason, path, headers]) => ({
    ...gate,
    reason: String(reason),
    action: 'reject' as const,
    provoke: (memory: RemoteMemory) => memory.host.post(String(path), {}, headers as Record<string, string>),
  })),
  {
    ...gate,
    reason: 'rate_limited:reliability_report',
    action: 'reject',
    provoke: (memory) => Promise.all([1, 2].map(() => memory.host.fetch('/reliability/report', { headers: aliceKey }))),
  },
];

/** Reasons of refused calls. */
export const refused: readonly ReasonGroup[] = [
  {
    platform: 'with keys',
    options: {
      env: {
        MORTISE_API_KEYS: JSON.stringify([{ key: 'alice-key-0123456789', id: 'alice-key', actor: 'alice' }]),
        MORTISE_TOOL_RATE_LIMITS: '{"reliability_report":"1/3600"}',
      },
    },
    rows: keyedRows,
  },
];
