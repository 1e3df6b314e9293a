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

/** A transactional backend in memory, whose behaviour a test may change. */
export interface FakeBackend {
  readonly plugin: TestPlugin;
  /** Every group it was given. */
  readonly groups: (readonly MemoryItem[])[];
  /** What a search answers; undefined: what it was given and that has a word of the query. */
  hits: readonly MemoryHit[] | undefined;
  failure: Error | undefined;
  /** It is asked whether it is well, and never says. */
  hangs: boolean;
  /** A search waits until it is told to end, and this says why. */
  ended: ((reason: unknown) => void) | undefined;
  /** Whom the last search or check of its health was for. */
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
