import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTexts } from 'mortise/contracts/memory-gateway/testing';
import { closedLoop, percentile } from '../parts/closed-loop.js';
import type { Measure } from '../parts/measure.js';
import { createPoster } from '../parts/post-json.js';
import { startProduct } from '../parts/product.js';
import { storeEnv } from './store-loop.js';

/** Latency of other endpoints while 32 stores wait for a backend that accepts connections and never answers. */
export const measureHealth: Measure = async ({ seconds, say }) => {
  const hung = createServer(() => {}).listen(0, '127.0.0.1');
  await new Promise((resolve) => hung.once('listening', resolve));
  const { port } = hung.address() as AddressInfo;
  const product = await startProduct({
    env: { ...storeEnv, OPENMEMORY_BASE_URL: `http://127.0.0.1:${port}` },
  });
  const poster = createPoster(product.origin, 8);
  const stores = createPoster(product.origin, 32);
  try {
    const texts = createTexts();
    const endpoints = ['/health', '/healthz'] as const;
    const watch = async (): Promise<Readonly<Record<(typeof endpoints)[number], number>>> => {
      const p99 = { '/health': 0, '/healthz': 0 };
      for (const endpoint of endpoints) {
        const { latencies } = await closedLoop(1, seconds, async () => {
          const { status } = await poster.get(endpoint);
          if (status !== 200) throw new Error(`${endpoint} answered ${status}`);
        });
        p99[endpoint] = percentile(latencies, 0.99);
      }
      return p99;
    };
    await watch();
    const idle = await watch();
    say('stores begin to hang');
    let going = true;
    const storing = Array.from({ length: 32 }, async () => {
      const body = () => ({ payload_md: texts.english(400), target_space: 'private:bench', actor_user_id: 'bench' });
      while (going) await stores.post('/memory/store', body()).catch(() => undefined);
    });
    const busy = await watch();
    going = false;
    hung.closeAllConnections();
    await Promise.all(storing);
    return endpoints.flatMap((endpoint) => [
      { name: `GET ${endpoint} while idle, p99`, value: idle[endpoint], unit: 'ms' },
      { name: `GET ${endpoint} while 32 stores hang, p99`, value: busy[endpoint], unit: 'ms', target: '<= 20' },
    ]);
  } finally {
    poster.close();
    stores.close();
    hung.closeAllConnections();
    hung.close();
    await product.dispose();
  }
};
