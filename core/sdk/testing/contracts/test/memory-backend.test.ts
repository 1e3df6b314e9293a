import { MortiseError } from '../../../errors.js';
import type { MemoryBackend, MemoryItem } from '../../../points/memory-backend.js';
import { createTestHost } from '../../create-test-host.js';
import { type MemoryBackendSubject, memoryBackendSuite } from '../memory-backend.js';
import { type Sample, testSuite, wait } from '../suite-samples.js';

/** Keeps memories in a map; `change` replaces members to break a promise. */
function backend(change: (good: MemoryBackend, items: Map<string, MemoryItem>) => Partial<MemoryBackend> = () => ({})) {
  const items = new Map<string, MemoryItem>();
  const shown = (id: string, item: MemoryItem) => ({ id, content: item.content, space: item.space });
  const good: MemoryBackend = {
    capabilities: { transactional: false, readBack: true, list: true, idempotent: true },
    store: async (item) => {
      const id = `id-${item.memoryKey}`;
      items.set(id, item);
      return { id };
    },
    search: async ({ query, spaces, limit }) => ({
      hits: [...items]
        .filter(([, item]) => spaces.includes(item.space) && item.content.includes(query))
        .slice(0, limit)
        .map(([id, item]) => ({ ...shown(id, item), score: 0.5 })),
    }),
    storeMany: (many, ctx) => Promise.all(many.map((item) => good.store(item, ctx))),
    get: async (id) => {
      const item = items.get(id);
      return item ? shown(id, item) : null;
    },
    list: async (cursor, limit) => {
      const from = Number(cursor ?? 0);
      const page = [...items].slice(from, from + limit);
      return {
        items: page.map(([id, item]) => shown(id, item)),
        next: from + limit < items.size ? String(from + limit) : null,
      };
    },
    find: async ({ memoryKey }) => (items.has(`id-${memoryKey}`) ? { id: `id-${memoryKey}` } : null),
    health: async () => ({ ok: true, detail: 'ready' }),
  };
  return { ...good, ...change(good, items) };
}

type Bad = Sample<'memory-backend', MemoryBackendSubject>;
const bad = (change: Parameters<typeof backend>[0]): Bad => ({ make: () => backend(change) });
const failing = (code: string, details: Record<string, unknown>) => async (): Promise<never> => {
  throw new MortiseError(code, 'The store is down.', { details });
};

/** A platform with a backend under each key that a sample may have, whose store is down. */
const down = (code: string, details: Record<string, unknown>) => () =>
  createTestHost({
    extra: [
      {
        manifest: { key: 'down', contributes: { 'memory-backend': ['*'] } },
        definition: {
          key: 'down',
          register: (host) => {
            for (const key of ['good', ...Array.from({ length: 20 }, (_, index) => `bad-${index}`)]) {
              const fail = failing(code, details);
              const health = async () => ({ ok: false, detail: 'down' });
              host.contribute('memory-backend', key, { ...backend(), store: fail, search: fail, health });
            }
          },
        },
      },
    ],
  });

let busy = 0;
let started = 0;

testSuite(
  { ...memoryBackendSuite, point: 'memory-backend' },
  {
    good: { make: () => backend() },
    subject: { unreachable: down('backend_unavailable', { class: 'unavailable', applied: 'no' }) },
    bad: {
      'is registered under its key, with facts that match the schema of its extension point': bad(() => ({
        capabilities: {} as MemoryBackend['capabilities'],
      })),
      'finds a stored memory, with its text and a score from 0 to 1': bad((good) => ({
        search: async (search, ctx) => {
          const { hits } = await good.search(search, ctx);
          return { hits: hits.map((hit) => ({ ...hit, score: 7 })) };
        },
      })),
      'never shows a memory to a search in another space': bad((good) => ({
        search: (search, ctx) =>
          good.search({ ...search, spaces: [...search.spaces, 'private:one', 'private:two'] }, ctx),
      })),
      'returns at most the requested number of hits, best first': bad((good) => ({
        search: (search, ctx) => good.search({ ...search, limit: search.limit + 1 }, ctx),
      })),
      'stores one memory per memory key, if it is idempotent': bad((good) => {
        let copies = 0;
        return {
          store: (item, ctx) => good.store({ ...item, memoryKey: `${item.memoryKey}-${copies++}` }, ctx),
        };
      }),
      'reads back, lists and finds stored memories, if it supports that': bad(() => ({ get: async () => null })),
      'stores nothing when its transaction is rolled back, if it is transactional': bad((good) => ({
        capabilities: { ...good.capabilities, transactional: true },
      })),
      'stores a batch like single memories, if it supports batches': bad((good) => ({
        storeMany: async (many, ctx) => {
          const stored = await Promise.all(many.map((item) => good.store(item, ctx)));
          return stored.toReversed();
        },
      })),
      'stores and searches concurrently': bad((good) => ({
        store: async (item, ctx) => {
          busy += 1;
          await wait(1);
          busy -= 1;
          return busy > 0 ? { id: 'lost' } : good.store(item, ctx);
        },
      })),
      'stops its work when its signal is aborted': bad((good) => ({
        search: async (search, ctx) => {
          await wait(700);
          return good.search(search, ctx);
        },
      })),
      'accepts hostile texts, queries and filters, or rejects them with a code': bad((good) => ({
        search: (search, ctx) => {
          new RegExp(search.query);
          return good.search(search, ctx);
        },
      })),
      'reports its health': bad(() => ({ health: async () => ({ ok: true }) as never })),
      'reports an unreachable store, and whether a memory may have been stored': {
        make: () => backend(),
        subject: { unreachable: down('ECONNREFUSED', {}) },
      },
      'does not log message text': {
        make: (host) =>
          backend((good) => ({
            search: (search, ctx) => {
              host.log.info(`searched ${search.query}`);
              return good.search(search, ctx);
            },
          })),
      },
      'is withdrawn when its plugin is disabled, and works again when it is enabled': {
        make: () => backend(),
        start: () => {
          started += 1;
          if (started > 1) throw new Error('already started');
        },
      },
    },
  },
);
