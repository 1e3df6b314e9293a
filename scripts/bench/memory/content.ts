import {
  type FakeDialect,
  type FakeOpenMemory,
  startFakeOpenMemory,
} from 'mortise/contracts/memory-backend-openmemory/testing';
import { createTexts } from 'mortise/contracts/memory-gateway/testing';
import type { Figure, Measure } from '../parts/measure.js';
import { createPoster } from '../parts/post-json.js';
import { startProduct } from '../parts/product.js';
import { fill, storeEnv } from './store-loop.js';

const memories = 10_000;
const driftsOfAKind = 20;

interface ContentReport {
  readonly data: {
    readonly backend: {
      readonly checked: number;
      readonly duration_ms: number;
      readonly findings: readonly { readonly finding: string; readonly backend_id: string }[];
    };
  };
}

const nameOf = (finding: string, id: string): string => `${finding} ${id}`;

/** Changes some memories of the backend without the ledger. @returns the findings to expect */
function drift(server: FakeOpenMemory, hasListing: boolean): ReadonlySet<string> {
  const stored = [...server.memories.values()];
  const step = Math.floor(stored.length / (driftsOfAKind * 4));
  const alter: Readonly<Record<string, (index: number) => object>> = {
    altered: (index) => ({ content: `altered ${index}` }),
    merged: (index) => ({ content: stored[index + 1]?.content ?? '' }),
    moved: (index) => ({ metadata: { ...stored[index]?.metadata, space: 'team:elsewhere' } }),
  };
  const expected = new Set<string>();
  for (let drifts = 0; drifts < driftsOfAKind * 4; drifts += 1) {
    const index = drifts * step;
    const memory = stored[index];
    if (memory === undefined) throw new Error('The backend has too few memories.');
    const kind = ['missing', 'altered', 'merged', 'moved'][drifts % 4] ?? 'missing';
    server.lose(memory.id);
    if (kind !== 'missing') server.put({ ...memory, ...alter[kind]?.(index) });
    expected.add(nameOf(kind, memory.id));
  }
  // Only a listing shows memories that the ledger does not have.
  for (let extra = 0; hasListing && extra < driftsOfAKind; extra += 1) {
    const metadata = { mortise_key: `mk_extra_${extra}`, space: 'private:bench' };
    expected.add(nameOf('extra', server.put({ content: `extra ${extra}`, metadata }).id));
  }
  return expected;
}

async function check(name: string, dialect: FakeDialect, say: (line: string) => void): Promise<readonly Figure[]> {
  const server = await startFakeOpenMemory({ dialect });
  const product = await startProduct({ env: { ...storeEnv, OPENMEMORY_BASE_URL: server.origin } });
  const poster = createPoster(product.origin, 64);
  try {
    say(`${memories} memories for the ${name}`);
    await fill(poster, createTexts(), memories, say);
    const expected = drift(server, dialect === 'query');
    const cpuFrom = product.cpuMs();
    const options = { report: true, checkBackend: true };
    const { status, text } = await poster.post('/admin/commands/memory-reconcile', { options, json: true });
    const cpu = product.cpuMs() - cpuFrom;
    if (status !== 200) throw new Error(`reconcile answered ${status}: ${text}`);
    const { checked, duration_ms, findings } = (JSON.parse(text) as ContentReport).data.backend;
    const found = new Set(findings.map(({ finding, backend_id }) => nameOf(finding, backend_id)));
    const wrong = [...found].filter((one) => !expected.has(one)).length;
    const named = [...expected].filter((one) => found.has(one)).length;
    return [
      { name: `content check by ${name}, ${checked} memories`, value: duration_ms / 1_000, unit: 's', target: '<= 10' },
      { name: '  CPU of the server', value: cpu / 1_000, unit: 's' },
      {
        name: `  ${expected.size} differences, reported`,
        value: (100 * named) / expected.size,
        unit: '%',
        target: '>= 100',
      },
      { name: '  reported wrongly', value: wrong, unit: '', target: '<= 0' },
    ];
  } finally {
    poster.close();
    await product.dispose();
    await server.stop();
  }
}

/** Compares a large ledger with a backend that lost, altered, merged, moved and added memories. */
export const measureContent: Measure = async ({ say }) => [
  ...(await check('listing', 'query', say)),
  ...(await check('single reads', 'search', say)),
];
