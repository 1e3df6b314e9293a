import { createTexts } from 'mortise/contracts/memory-gateway/testing';
import { closedLoop, percentile } from '../parts/closed-loop.js';
import type { Measure } from '../parts/measure.js';
import { createPoster } from '../parts/post-json.js';
import { startProduct } from '../parts/product.js';
import { callTool, fill, storeEnv } from './store-loop.js';

const memories = 100_000;

/** `memory_query` among many memories, English and Chinese. */
export const measureQuery: Measure = async ({ seconds, rounds, say }) => {
  const product = await startProduct({ env: storeEnv });
  const poster = createPoster(product.origin, 64);
  try {
    const texts = createTexts();
    await fill(poster, texts, memories, say);
    const ask = async (): Promise<void> => {
      await callTool(poster, 'memory_query', { query: texts.question(), spaces: ['private:bench'], top_k: 10 });
    };
    await closedLoop(4, 2, ask);
    say('queries');
    const cpuFrom = product.cpuMs();
    const { latencies, perSecond, operations } = await closedLoop(4, seconds * rounds, ask);
    return [
      { name: `memory_query, ${memories} memories, 4 callers`, value: perSecond, unit: '/s' },
      { name: '  p50', value: percentile(latencies, 0.5), unit: 'ms' },
      { name: '  p95', value: percentile(latencies, 0.95), unit: 'ms', target: '<= 10' },
      { name: '  CPU of the server', value: ((product.cpuMs() - cpuFrom) * 1_000) / operations, unit: 'µs each' },
    ];
  } finally {
    poster.close();
    await product.dispose();
  }
};
