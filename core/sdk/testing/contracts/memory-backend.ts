import type { MemoryBackend, MemoryBackendContext, MemoryBackendFacts } from '../../points/memory-backend.js';
import type { CallOptions } from '../../points.js';
import type { TestHost } from '../create-test-host.js';
import { eachDatabase } from '../databases.js';
import { abortCheck, absence, factsCheck, quietCheck, withdrawalCheck } from './common-checks.js';
import { type Check, type Contract, describeContract } from './contract.js';
import { frozenCopy, hostileTexts } from './hostile.js';
import {
  factsOf,
  type MemoryBackendSubject,
  memoryItem,
  RolledBack,
  search,
  store,
  textMark,
  use,
  wordOf,
} from './memory-backend-calls.js';
import { errorIssues, outcomeOf } from './outcome.js';

export { type MemoryBackendSubject, memoryItem } from './memory-backend-calls.js';

/** A check that also fails when a call throws. */
function backendCheck(
  promise: string,
  issues: (host: TestHost, subject: MemoryBackendSubject, facts: MemoryBackendFacts) => Promise<readonly string[]>,
): Check<MemoryBackendSubject> {
  return {
    promise,
    violations: async (host, subject) => {
      const facts = factsOf(host, subject.key);
      if (!facts) return absence(host, 'memory-backend', subject.key);
      const outcome = await outcomeOf(() => issues(host, subject, facts));
      if (outcome.ok) return outcome.value;
      return [...errorIssues(outcome.error), `a call failed: ${(outcome.error as Error).message}`];
    },
  };
}

const finds = backendCheck('finds a stored memory, with its text and a score from 0 to 1', async (host, subject) => {
  const { id } = await store(host, subject, memoryItem(1));
  const hits = await search(host, subject, wordOf(1));
  const hit = hits.find((one) => one.content === memoryItem(1).content);
  const issues = hits.flatMap(({ score }) => (score >= 0 && score <= 1 ? [] : [`a score is ${score}`]));
  if (typeof id !== 'string' || id === '') issues.push('store returns no id');
  if (!hit) issues.push('the stored memory is not found');
  else if (hit.id !== id) issues.push('search returns a different id than store');
  if ((await search(host, subject, 'zzunheardofzz')).length > 0) issues.push('a word that was never stored is found');
  return issues;
});

const isolation = backendCheck('never shows a memory to a search in another space', async (host, subject) => {
  await store(host, subject, memoryItem(2, { space: 'private:one' }));
  await store(host, subject, memoryItem(2, { space: 'private:two', memoryKey: 'contract-2b' }));
  const issues: string[] = [];
  for (const [spaces, expected] of [
    [['private:one'], 1],
    [['private:one', 'private:two'], 2],
    [['private:on'], 0],
    [['private:%'], 0],
    [['private:*'], 0],
    [[], 0],
  ] as const) {
    const found = (await search(host, subject, wordOf(2), { spaces })).length;
    if (found !== expected) issues.push(`a search in [${spaces}] returns ${found} memories instead of ${expected}`);
  }
  return issues;
});

const limits = backendCheck('returns at most the requested number of hits, best first', async (host, subject) => {
  for (let number = 30; number < 36; number += 1)
    await store(
      host,
      subject,
      memoryItem(number, { content: `many shared ${wordOf(number)}`, space: 'private:limit' }),
    );
  const hits = await search(host, subject, 'shared', { spaces: ['private:limit'], limit: 3 });
  const sorted = hits.every(({ score }, index) => index === 0 || score <= (hits[index - 1]?.score ?? 1));
  return [
    ...(hits.length === 3 ? [] : [`a limit of 3 returns ${hits.length}`]),
    ...(sorted ? [] : ['the hits are not in order of their scores']),
  ];
});

const idempotence = backendCheck(
  'stores one memory per memory key, if it is idempotent',
  async (host, subject, facts) => {
    if (!facts.capabilities.idempotent) return [];
    const first = await store(host, subject, memoryItem(3));
    const second = await store(host, subject, memoryItem(3));
    const found = (await search(host, subject, wordOf(3))).length;
    return [
      ...(first.id === second.id ? [] : ['the repeat has a different id']),
      ...(found === 1 ? [] : [`the repeat left ${found} memories`]),
    ];
  },
);

const readers = backendCheck(
  'reads back, lists and finds stored memories, if it supports that',
  async (host, subject, facts) => {
    const item = memoryItem(4, { space: 'private:readers' });
    const { id } = await store(host, subject, item);
    const issues: string[] = [];
    const got = await use(host, subject, async (backend, ctx) =>
      backend.get ? [await backend.get(id, ctx), await backend.get('no-such-memory', ctx)] : undefined,
    );
    if (facts.capabilities.readBack && !got) issues.push('it declares readBack but has no get');
    if (got && got[0]?.content !== item.content) issues.push('get returns a different text');
    if (got && got[1] !== null) issues.push('get returns a memory for an unknown id');
    const listed = await use(host, subject, async (backend, ctx) => (backend.list ? listAll(backend, ctx) : undefined));
    if (facts.capabilities.list && !listed) issues.push('it declares list but has no list');
    if (listed && !listed.includes(id)) issues.push('list omits a stored memory');
    if (listed && new Set(listed).size < listed.length) issues.push('list returns a memory twice');
    const { memoryKey, space, payloadSha, content } = item;
    const found = await use(host, subject, async (backend, ctx) =>
      backend.find
        ? [
            await backend.find({ memoryKey, space, payloadSha, content }, ctx),
            await backend.find({ memoryKey: 'nobody', space, payloadSha: '0'.repeat(64), content: 'nobody' }, ctx),
          ]
        : undefined,
    );
    if (found && found[0]?.id !== id) issues.push('find does not find a stored memory');
    if (found && found[1] !== null) issues.push('find finds a memory that was never stored');
    return issues;
  },
);

async function listAll(backend: MemoryBackend, ctx: MemoryBackendContext): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < 1_000; page += 1) {
    const found: Awaited<ReturnType<NonNullable<MemoryBackend['list']>>> | undefined = await backend.list?.(
      cursor,
      2,
      ctx,
    );
    ids.push(...(found?.items ?? []).map(({ id }) => id));
    cursor = found?.next ?? null;
    if (cursor === null) return ids;
  }
  return [...ids, ...ids];
}

const rollback = backendCheck(
  'stores nothing when its transaction is rolled back, if it is transactional',
  async (host, subject, facts) => {
    if (!facts.capabilities.transactional) return [];
    const outcome = await outcomeOf(() => store(host, subject, memoryItem(5), { rollBack: true }));
    if (!outcome.ok && !(outcome.error instanceof RolledBack)) return errorIssues(outcome.error);
    const left = (await search(host, subject, wordOf(5))).length;
    await store(host, subject, memoryItem(5));
    const found = (await search(host, subject, wordOf(5))).length;
    return [
      ...(left === 0 ? [] : ['a memory is found although its transaction was rolled back']),
      ...(found === 1 ? [] : ['a memory is not found after its transaction was repeated']),
    ];
  },
);

const many = backendCheck(
  'stores a batch like single memories, if it supports batches',
  async (host, subject, facts) => {
    const items = [6, 7].map((number) => memoryItem(number, { space: 'private:many' }));
    if (facts.capabilities.transactional) return [];
    const stored = await use(host, subject, async (backend, ctx) => backend.storeMany?.(frozenCopy(items), ctx));
    if (!stored) return [];
    const [first] = await search(host, subject, wordOf(7), { spaces: ['private:many'] });
    return [
      ...(stored.length === items.length ? [] : [`${items.length} memories gave ${stored.length} results`]),
      ...(first?.id === stored[1]?.id ? [] : ['the results are not in the order of the memories']),
    ];
  },
);

const concurrency = backendCheck('stores and searches concurrently', async (host, subject) => {
  const items = Array.from({ length: 10 }, (_, index) => memoryItem(100 + index, { space: 'private:concurrent' }));
  await Promise.all([
    ...items.map((item) => store(host, subject, item)),
    ...items.map(() => search(host, subject, 'harbour', { spaces: ['private:concurrent'] })),
  ]);
  const issues: string[] = [];
  for (const [index, item] of items.entries()) {
    const hits = await search(host, subject, wordOf(100 + index), { spaces: ['private:concurrent'] });
    if (hits.length !== 1 || hits[0]?.content !== item.content) issues.push('a memory stored concurrently is lost');
  }
  return [...new Set(issues)];
});

const hostile = backendCheck(
  'accepts hostile texts, queries and filters, or rejects them with a code',
  async (host, subject) => {
    const issues: string[] = [];
    const attempt = async (run: () => Promise<unknown>): Promise<void> => {
      const outcome = await outcomeOf(run);
      if (!outcome.ok) issues.push(...errorIssues(outcome.error));
    };
    for (const [index, text] of hostileTexts.entries()) {
      await attempt(() => store(host, subject, memoryItem(200 + index, { content: text, space: 'private:hostile' })));
      await attempt(() => search(host, subject, text, { spaces: ['private:hostile'] }));
      await attempt(() => search(host, subject, 'harbour', { spaces: [text] }));
      await attempt(() =>
        search(host, subject, 'harbour', { filters: { evidence: text, meta: { a: text }, kind: [text] } }),
      );
    }
    await attempt(() => search(host, subject, 'harbour', { filters: { other: { unheard_of: 1 } }, limit: 1 }));
    return [...new Set(issues)];
  },
);

const health = backendCheck('reports its health', async (host, subject) => {
  const report = await use(host, subject, (backend, ctx) => backend.health(ctx));
  return report.ok === true && typeof report.detail === 'string' ? [] : ['it is not healthy, or has no detail'];
});

const outage: Check<MemoryBackendSubject> = {
  promise: 'reports an unreachable store, and whether a memory may have been stored',
  violations: async (_, subject) => {
    const host = await subject.unreachable?.();
    if (!host) return [];
    try {
      const issues: string[] = [];
      for (const run of [() => store(host, subject, memoryItem(8)), () => search(host, subject, wordOf(8))]) {
        const outcome = await outcomeOf<unknown>(run);
        if (outcome.ok) issues.push('a call succeeds although the store cannot be reached');
        else issues.push(...errorIssues(outcome.error, 'backend_'), ...classIssues(outcome.error));
      }
      const report = await outcomeOf(() => use(host, subject, (backend, ctx) => backend.health(ctx)));
      if (!report.ok || report.value.ok) issues.push('health does not report it');
      return issues;
    } finally {
      await host.stop();
    }
  },
};

function classIssues(error: unknown): readonly string[] {
  const details = (error as { details?: { class?: unknown; applied?: unknown } } | null)?.details;
  return [
    ...(details?.class === 'unavailable' ? [] : [`the class of the failure is ${String(details?.class)}`]),
    ...(details?.applied === 'no' || details?.applied === 'unknown' ? [] : ['it does not report what was applied']),
  ];
}

export const memoryBackendSuite: Contract<MemoryBackendSubject> = {
  point: 'memory-backend',
  checks: (subject) => {
    const call = (host: TestHost, own: MemoryBackendSubject, options?: CallOptions) =>
      search(host, own, textMark, options);
    return [
      factsCheck('memory-backend'),
      finds,
      isolation,
      limits,
      idempotence,
      readers,
      rollback,
      many,
      concurrency,
      abortCheck('memory-backend', call),
      hostile,
      health,
      ...(subject.unreachable ? [outage] : []),
      quietCheck(textMark, call),
      withdrawalCheck('memory-backend', call),
    ];
  },
};

/** Like {@link MemoryBackendSubject}, with a host per database. */
export type MemoryBackendContract = Omit<MemoryBackendSubject, 'host' | 'unreachable'> & {
  readonly host: (database: Readonly<Record<string, string>>) => Promise<TestHost>;
  readonly unreachable?: (database: Readonly<Record<string, string>>) => Promise<TestHost>;
};

/**
 * Defines the contract tests of a memory backend, on SQLite and on PostgreSQL.
 *
 * @example
 * memoryBackendContract('the local backend', {
 *   host: (database) => createTestHost({ plugins: ['memory-backend-local'], database }),
 *   key: 'local',
 * });
 */
export function memoryBackendContract(name: string, contract: MemoryBackendContract): void {
  describe(`${name} meets the contract of memory backends`, () => {
    eachDatabase(
      (engine) => {
        const { host, unreachable, ...rest } = contract;
        describeContract('with each promise', memoryBackendSuite, {
          ...rest,
          host: () => host(engine.env),
          ...(unreachable ? { unreachable: () => unreachable(engine.env) } : {}),
        });
      },
      { keepRows: true },
    );
  });
}
