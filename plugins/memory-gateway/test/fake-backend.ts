import { once } from 'node:events';
import {
  type CallContext,
  type MemoryBackend,
  type MemoryHit,
  type MemoryItem,
  MortiseError,
  type PluginDefinition,
} from 'mortise/sdk';
import type { TestPlugin } from 'mortise/sdk/testing';

/** A transactional in-memory backend whose behaviour a test can change. */
export interface FakeBackend {
  readonly plugin: TestPlugin;
  /** Every group it has received. */
  readonly groups: (readonly MemoryItem[])[];
  /** The hits of a search; undefined: stored memories that have a word of the query. */
  hits: readonly MemoryHit[] | undefined;
  failure: Error | undefined;
  /** A health check never ends. */
  hangs: boolean;
  /** A search waits until it is aborted; this is the reason of the abort. */
  ended: ((reason: unknown) => void) | undefined;
  /** The caller of the last search or health check. */
  askedFor: Pick<CallContext, 'correlationId' | 'requestId' | 'principal'> | undefined;
}

/** Stores under `fake_<memory key>`; an item whose text has the word `poison` fails its group. */
export function fakeBackend(): FakeBackend {
  const capabilities = { transactional: true, readBack: false, list: false, idempotent: false };
  const fake: FakeBackend = {
    groups: [],
    hits: undefined,
    failure: undefined,
    hangs: false,
    ended: undefined,
    askedFor: undefined,
    plugin: {
      manifest: { key: 'fake-backend', contributes: { 'memory-backend': ['fake'] } },
      definition: () => definition,
    },
  };
  const storeMany: NonNullable<MemoryBackend['storeMany']> = async (items) => {
    fake.groups.push(items);
    if (items.some(({ content }) => content.includes('poison'))) throw new Error('poisoned');
    return items.map(({ memoryKey }) => ({ id: `fake_${memoryKey}` }));
  };
  const backend: MemoryBackend = {
    capabilities,
    storeMany,
    store: async (item, ctx) => (await storeMany([item], ctx))[0] ?? { id: '' },
    async search({ query, filters, limit }, { correlationId, requestId, principal, signal }) {
      fake.askedFor = { correlationId, requestId, principal };
      if (fake.ended !== undefined) {
        await once(signal, 'abort');
        fake.ended(signal.reason);
      }
      if (fake.failure !== undefined) throw fake.failure;
      const words = query.toLowerCase().split(/\s+/);
      const found = fake.groups
        .flat()
        .filter(({ content }) => words.some((word) => content.toLowerCase().includes(word)));
      const hits = found.map(({ memoryKey, content }) => ({ id: `fake_${memoryKey}`, content, score: 0.5 }));
      return { hits: fake.hits ?? hits.slice(0, limit), unknownFilters: Object.keys(filters.other ?? {}) };
    },
    async health({ correlationId, requestId, principal, signal }) {
      fake.askedFor = { correlationId, requestId, principal };
      if (fake.hangs) await once(signal, 'abort');
      if (fake.failure !== undefined) throw fake.failure;
      return { ok: true, detail: 'ready' };
    },
  };
  const definition: PluginDefinition = {
    key: 'fake-backend',
    register: (host) => void host.contribute('memory-backend', 'fake', backend),
  };
  return fake;
}

/** What a backend throws that cannot be reached. */
export function unreachable(): Error {
  return new MortiseError('backend_unavailable', 'OpenMemory API error: 503', {
    status: 503,
    details: { class: 'unavailable', status: 503, applied: 'no' },
  });
}
