import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { until } from '../../../core/sdk/testing/index.js';
import { startPeer } from '../parts/peer.js';
import { type Product, startProduct } from '../parts/product.js';

/** A way to the model API. */
export interface Gateway {
  readonly name: 'direct' | 'undici' | 'portkey' | 'mortise';
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Gateways {
  readonly all: readonly Gateway[];
  readonly product: Product;
  close(): Promise<void>;
}

const apiKey = 'sk-bench-key-0123456789';

/**
 * Opens the API and the ways to it: direct, through a bare proxy, Portkey's gateway (if it is installed) and the product.
 * @param profile folder for a CPU profile of the product
 */
export async function openGateways(peerFolder: string | undefined, profile: string | undefined): Promise<Gateways> {
  const upstream = await startPeer('llm-upstream');
  const address = `http://127.0.0.1:${upstream.hello as number}`;
  const proxy = await startPeer('undici-proxy', [address]);
  const portkey = peerFolder === undefined ? undefined : await startPortkey(peerFolder);
  const product = await startProduct({
    env: {
      MORTISE_API_KEY: apiKey,
      ANTHROPIC_API_KEY: 'any',
      ANTHROPIC_BASE_URL: address,
      BENCH_API_KEY: 'any',
      BENCH_BASE_URL: `${address}/v1`,
      ...(profile === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profile}` }),
    },
  });
  await until('the product is ready', async () => (await product.server.fetch('/ready')).ok);
  const all: Gateway[] = [
    { name: 'direct', origin: address, headers: { 'x-api-key': 'any' } },
    { name: 'undici', origin: `http://127.0.0.1:${proxy.hello as number}`, headers: { 'x-api-key': 'any' } },
    ...(portkey ? [portkeyGateway(portkey.origin, address)] : []),
    { name: 'mortise', origin: product.origin, headers: { 'x-api-key': apiKey } },
  ];
  return {
    all,
    product,
    async close() {
      await product.dispose();
      portkey?.stop();
      proxy.close();
      upstream.close();
    },
  };
}

function portkeyGateway(origin: string, address: string): Gateway {
  const headers = {
    'x-api-key': 'any',
    authorization: 'Bearer any',
    'x-portkey-provider': 'anthropic',
    'x-portkey-custom-host': `${address}/v1`,
  };
  return { name: 'portkey', origin, headers };
}

async function startPortkey(folder: string) {
  const program = join(folder, 'node_modules', '@portkey-ai', 'gateway', 'build', 'start-server.js');
  if (!existsSync(program)) return undefined;
  const port = await freePort();
  const child = spawn(process.execPath, [program, `--port=${port}`, '--headless'], { stdio: 'ignore' });
  const origin = `http://127.0.0.1:${port}`;
  await until('Portkey’s gateway listens', async () => {
    try {
      return (await fetch(origin)).status > 0;
    } catch {
      return false;
    }
  });
  return { origin, stop: () => void child.kill() };
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** A request of about 2 KB. */
export function messageBody(more: object = {}, model = 'anthropic/claude-bench'): object {
  return { model, max_tokens: 1_024, messages: [{ role: 'user', content: 'word '.repeat(380) }], ...more };
}
