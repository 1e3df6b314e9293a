import { closedLoop, median, percentile } from '../parts/closed-loop.js';
import type { Measure } from '../parts/measure.js';
import { startPeer } from '../parts/peer.js';
import { createPoster } from '../parts/post-json.js';
import { cpuMsOf, startProduct } from '../parts/product.js';
import { callTool, fill, storeEnv } from './store-loop.js';
import { createTexts } from './texts.js';

const callers = 16;
const memories = 1_000;

/** `memory_query` over MCP, beside the official SDK's server with a tool that does nothing. */
export const measureCalls: Measure = async ({ seconds, rounds, say }) => {
  const product = await startProduct({ env: storeEnv });
  const bare = await startPeer('bare-mcp');
  const ours = createPoster(product.origin, 64);
  const theirs = createPoster(`http://127.0.0.1:${bare.hello}`, callers);
  try {
    const texts = createTexts();
    await fill(ours, texts, memories, say);
    const sides = {
      ours: { poster: ours, cpu: product.cpuMs, rates: [] as number[], p99: [] as number[], each: [] as number[] },
      theirs: {
        poster: theirs,
        cpu: () => cpuMsOf(bare.pid),
        rates: [] as number[],
        p99: [] as number[],
        each: [] as number[],
      },
    };
    const run = async (side: keyof typeof sides, time: number): Promise<void> => {
      const { poster, cpu, rates, p99, each } = sides[side];
      const cpuFrom = cpu();
      const figures = await closedLoop(callers, time, async () => {
        await callTool(poster, 'memory_query', { query: texts.question(), spaces: ['private:bench'], top_k: 10 });
      });
      rates.push(figures.perSecond);
      p99.push(percentile(figures.latencies, 0.99));
      each.push(((cpu() - cpuFrom) * 1_000) / figures.operations);
    };
    for (const side of ['ours', 'theirs'] as const) {
      await run(side, 2);
      for (const list of [sides[side].rates, sides[side].p99, sides[side].each]) list.length = 0;
    }
    for (let round = 1; round <= rounds; round += 1) {
      say(`calls, round ${round} of ${rounds}`);
      await run('ours', seconds);
      await run('theirs', seconds);
    }
    const rate = { ours: median(sides.ours.rates), theirs: median(sides.theirs.rates) };
    const p99 = { ours: median(sides.ours.p99), theirs: median(sides.theirs.p99) };
    return [
      { name: `tools/call memory_query, ${memories} memories, ${callers} callers`, value: rate.ours, unit: '/s' },
      { name: '  p99', value: p99.ours, unit: 'ms', target: `<= ${p99.theirs.toFixed(2)}` },
      { name: '  CPU of the server', value: median(sides.ours.each), unit: 'µs each' },
      { name: 'official SDK, a tool that does nothing', value: rate.theirs, unit: '/s' },
      { name: '  p99', value: p99.theirs, unit: 'ms' },
      { name: '  CPU of the server', value: median(sides.theirs.each), unit: 'µs each' },
      { name: 'calls of the server for each of the SDK', value: rate.ours / rate.theirs, unit: '', target: '>= 3' },
    ];
  } finally {
    bare.close();
    ours.close();
    theirs.close();
    await product.dispose();
  }
};
