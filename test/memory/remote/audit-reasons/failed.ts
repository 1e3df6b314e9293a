import type { MemoryBackend, PluginDefinition } from 'mortise/sdk';
import { until } from 'mortise/sdk/testing';
import type { RemoteMemory } from '../remote-memory.js';
import { byStore, byWorker, put, type ReasonGroup, type ReasonRow } from './reason-row.js';

const outageRows: readonly ReasonRow[] = [
  ...(
    [
      ['connection_error', { kind: 'reset' }],
      ['timeout', { kind: 'hang' }],
      ['api_error_401', { kind: 'status', status: 401 }],
      ['api_error_400', { kind: 'status', status: 400 }],
      ['invalid_response', { kind: 'malformed' }],
      ['merged', { kind: 'merge' }],
    ] as const
  ).map(([detail, fault]) => ({
    ...byStore,
    reason: `OPENMEMORY_WRITE_FAILED:${detail}`,
    action: 'redirect' as const,
    provoke: async (memory: RemoteMemory) => {
      await put(memory, `Before ${detail}.`);
      await memory.storeUnder(fault, `Under ${detail}.`);
    },
  })),
  {
    ...byWorker,
    source: 'gateway', // The plugin that stored it writes this row.
    reason: 'outbox_flush_dead',
    action: 'reject',
    provoke: (memory) => memory.storeUnder({ kind: 'status', status: 400 }, 'Refused at once.'),
  },
  {
    ...byStore,
    reason: 'OPENMEMORY_WRITE_FAILED:content_too_long',
    action: 'redirect',
    provoke: (memory) => put(memory, 'x'.repeat(200_001)),
  },
  {
    ...byStore,
    reason: 'OPENMEMORY_WRITE_FAILED:circuit_open',
    action: 'redirect',
    async provoke(memory) {
      await memory.server.stop();
      for (let n = 0; n < 6; n += 1) await put(memory, `Down ${n}.`);
      await memory.server.start();
      await until(() => memory.host.service('memory').status().circuit === 'closed');
    },
  },
];

const crashRows: readonly ReasonRow[] = [
  {
    ...byStore,
    reason: 'OPENMEMORY_WRITE_FAILED:recovered_after_crash',
    action: 'redirect',
    async provoke(memory) {
      await put(memory, 'Left behind.');
      const past = memory.database.codec.time(Date.now() - 60_000);
      await memory.database.statement(
        `update {governance.write_audit} set status = 'pending', writer_id = 'gone', created_at = ?
         where audit_id = (select audit_id from {logbook.memories} where payload_md = 'Left behind.')`,
        [past],
      );
      await memory.database.statement(
        `update {logbook.memories} set state = 'writing', backend_memory_id = null where payload_md = 'Left behind.'`,
      );
      for (const id of memory.server.memories.keys()) memory.server.lose(id);
      await memory.run('memory-recover');
    },
  },
];

/** A backend whose failures have no code. */
const odd: MemoryBackend = {
  capabilities: { transactional: false, readBack: false, list: false, idempotent: false },
  store: () => Promise.reject(new Error('something odd')),
  search: async () => ({ hits: [] }),
  health: async () => ({ ok: true, detail: 'ready' }),
};
const oddPlugin: PluginDefinition = {
  key: 'odd-backend',
  register: (host) => void host.contribute('memory-backend', 'odd', odd),
};

/** Outcomes of stores whose backend call fails. */
export const failed: readonly ReasonGroup[] = [
  {
    platform: 'whose backend fails',
    options: { env: { MORTISE_OPENMEMORY_TIMEOUT_MS: '400' } },
    rows: outageRows,
  },
  { platform: 'that was killed', options: {}, isTampered: true, rows: crashRows },
  {
    platform: 'whose backend fails without an error code',
    options: {
      env: { MORTISE_MEMORY_BACKEND: 'odd' },
      extra: [{ manifest: { key: 'odd-backend', contributes: { 'memory-backend': ['odd'] } }, definition: oddPlugin }],
    },
    rows: [
      {
        ...byStore,
        reason: 'OPENMEMORY_WRITE_FAILED:unknown',
        action: 'redirect',
        provoke: (memory) => put(memory, 'Into nowhere.'),
      },
    ],
  },
];
