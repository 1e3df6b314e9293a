import { createTexts } from 'mortise/contracts/memory-gateway/testing';
import { closedLoop, median, percentile } from '../parts/closed-loop.js';
import type { Measure } from '../parts/measure.js';
import { type Peer, startPeer } from '../parts/peer.js';
import { createPoster, type JsonPoster } from '../parts/post-json.js';
import { cpuMsOf, startProduct } from '../parts/product.js';
import { callTool, fill, storeEnv } from './store-loop.js';

const callers = 16;
const memories = 1_000;

/** A server that gets the same calls as the others. */
class Side {
  readonly rates: number[] = [];
  readonly p99: number[] = [];
  readonly each: number[] = [];
  readonly poster: JsonPoster;
  readonly #cpuMs: () => number;

  constructor(poster: JsonPoster, cpuMs: () => number) {
    this.poster = poster;
    this.#cpuMs = cpuMs;
  }

  async run(seconds: number, question: () => string, isCounted = true): Promise<void> {
    const cpuFrom = this.#cpuMs();
    const figures = await closedLoop(callers, seconds, async () => {
      await callTool(this.poster, 'memory_query', { query: question(), spaces: ['private:bench'], top_k: 10 });
    });
    if (!isCounted) return;
    this.rates.push(figures.perSecond);
    this.p99.push(percentile(figures.latencies, 0.99));
    this.each.push(((this.#cpuMs() - cpuFrom) * 1_000) / figures.operations);
  }
}

/**
 * `memory_query` over MCP, compared with an empty tool on the official SDK's server, and with Node's HTTP server that
 * always gives the same answer, which is the upper bound.
 */
export const measureCalls: Measure = async ({ seconds, rounds, say }) => {
  const product = await startProduct({ env: storeEnv });
  const peers = { sdk: await startPeer('bare-mcp'), http: await startPeer('bare-http') };
  const sideOf = ({ hello, pid }: Peer): Side =>
    new Side(createPoster(`http://127.0.0.1:${hello}`, callers), () => cpuMsOf(pid));
  const ours = new Side(createPoster(product.origin, 64), product.cpuMs);
  const sdk = sideOf(peers.sdk);
  const http = sideOf(peers.http);
  const sides = [ours, sdk, http];
  try {
    const texts = createTexts();
    await fill(ours.poster, texts, memories, say);
    for (const side of sides) await side.run(2, texts.question, false);
    for (let round = 1; round <= rounds; round += 1) {
      say(`calls, round ${round} of ${rounds}`);
      for (const side of sides) await side.run(seconds, texts.question);
    }
    const rate = (side: Side): number => median(side.rates);
    return [
      { name: `tools/call memory_query, ${memories} memories, ${callers} callers`, value: rate(ours), unit: '/s' },
      { name: '  p99', value: median(ours.p99), unit: 'ms', target: `<= ${median(sdk.p99).toFixed(2)}` },
      { name: '  CPU of the server', value: median(ours.each), unit: 'µs each' },
      { name: 'official SDK, an empty tool', value: rate(sdk), unit: '/s' },
      { name: '  p99', value: median(sdk.p99), unit: 'ms' },
      { name: '  CPU of the server', value: median(sdk.each), unit: 'µs each' },
      { name: 'node:http, always the same ten memories', value: rate(http), unit: '/s' },
      { name: '  CPU of the server', value: median(http.each), unit: 'µs each' },
      { name: 'calls of the server, relative to the SDK', value: rate(ours) / rate(sdk), unit: '', target: '>= 3' },
      { name: 'calls of node:http, relative to the SDK', value: rate(http) / rate(sdk), unit: '' },
    ];
  } finally {
    for (const peer of Object.values(peers)) peer.close();
    for (const side of sides) side.poster.close();
    await product.dispose();
  }
};
