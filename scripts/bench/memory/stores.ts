import { createTexts } from 'mortise/contracts/memory-gateway/testing';
import { closedLoop, median, percentile } from '../parts/closed-loop.js';
import type { Figure, Measure } from '../parts/measure.js';
import { type Peer, startPeer } from '../parts/peer.js';
import { createPoster } from '../parts/post-json.js';
import { startProduct } from '../parts/product.js';
import { storeByRest, storeByTool, storeEnv } from './store-loop.js';

interface Round {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** CPU of the server, microseconds per store. */
  readonly cpu: number;
}

/** Audited stores over HTTP, compared with a loop that only commits the same rows with knex. */
export const measureStores: Measure = async ({ seconds, rounds, say }) => {
  const product = await startProduct({ env: storeEnv });
  const poster = createPoster(product.origin, 32);
  const texts = createTexts();
  let bare: Peer | undefined;
  try {
    const endpoints = { rest: storeByRest, tool: storeByTool };
    const run = async (endpoint: keyof typeof endpoints, callers: number, time: number): Promise<Round> => {
      const cpuFrom = product.cpuMs();
      const figures = await closedLoop(callers, time, () => endpoints[endpoint](poster, texts.english(400)));
      return {
        perSecond: figures.perSecond,
        p50: percentile(figures.latencies, 0.5),
        p99: percentile(figures.latencies, 0.99),
        cpu: ((product.cpuMs() - cpuFrom) * 1_000) / figures.operations,
      };
    };
    await run('rest', 32, Math.min(2, seconds));
    const loop = await startPeer('bare-knex', [product.databaseFile]);
    bare = loop;
    const runBare = async (storesPerTransaction: number): Promise<number> =>
      Number(await loop.ask({ storesPerTransaction, seconds }));
    const seen = {
      rest: [] as Round[],
      tool: [] as Round[],
      alone: [] as Round[],
      one: [] as number[],
      ten: [] as number[],
    };
    for (let round = 1; round <= rounds; round += 1) {
      say(`stores, round ${round} of ${rounds}`);
      seen.rest.push(await run('rest', 32, seconds));
      seen.one.push(await runBare(1));
      seen.tool.push(await run('tool', 32, seconds));
      seen.ten.push(await runBare(10));
      seen.alone.push(await run('rest', 1, seconds / 2));
    }
    const of = (rows: readonly Round[], what: keyof Round): number => median(rows.map((row) => row[what]));
    const one = median(seen.one);
    return [
      ...endpointFigures('POST /memory/store, 32 callers', seen.rest, of),
      ...endpointFigures('tools/call memory_store, 32 callers', seen.tool, of),
      { name: 'POST /memory/store, 1 caller, p50', value: of(seen.alone, 'p50'), unit: 'ms', target: '<= 2' },
      { name: 'bare knex, one store a transaction', value: one, unit: '/s' },
      { name: 'bare knex, ten stores a transaction', value: median(seen.ten), unit: '/s' },
      {
        name: 'stores of the server, relative to bare knex (one a transaction)',
        value: of(seen.rest, 'perSecond') / one,
        unit: '',
        target: '>= 0.4',
      },
    ];
  } finally {
    bare?.close();
    poster.close();
    await product.dispose();
  }
};

function endpointFigures(
  name: string,
  rows: readonly Round[],
  of: (rows: readonly Round[], what: keyof Round) => number,
): readonly Figure[] {
  return [
    { name, value: of(rows, 'perSecond'), unit: '/s', target: '>= 4000' },
    { name: '  p50', value: of(rows, 'p50'), unit: 'ms' },
    { name: '  p99', value: of(rows, 'p99'), unit: 'ms', target: '<= 20' },
    { name: '  CPU of the server', value: of(rows, 'cpu'), unit: 'µs each' },
  ];
}
