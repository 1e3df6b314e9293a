import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../../core/sdk/index.js';
import { createTestDatabase, openDatabase, silentLog } from '../../../core/sdk/testing/index.js';
import { startProduct } from '../parts/product.js';

export type Dialect = 'sqlite' | 'postgres';

/** The shipped product except for its model, on either database. */
export interface BenchServer {
  readonly dialect: Dialect;
  readonly origin: string;
  /** CPU time that the process has used so far, milliseconds; NaN where the system does not report it. */
  cpuMs(): number;
  /** The sessions' tables, to fill them. */
  readonly tables: Database;
  dispose(): Promise<void>;
}

export interface BenchServerOptions {
  /** A provider `demo` in JavaScript, instead of the shipped one. */
  readonly model?: string;
  /** Where a CPU profile of the server is written. */
  readonly profile?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
}

export async function openServer(dialect: Dialect, options: BenchServerOptions = {}): Promise<BenchServer> {
  const { model, profile, env = {} } = options;
  const folder = await mkdtemp(join(tmpdir(), 'mortise-bench-'));
  const database = dialect === 'postgres' ? await createTestDatabase('postgres') : undefined;
  if (model !== undefined) await dropIn(join(folder, 'plugins', 'bench-model'), model);
  const product = await startProduct({
    folder,
    plugins: model === undefined ? {} : { 'provider-demo': { enabled: false }, 'bench-model': { enabled: true } },
    env: {
      MORTISE_AGENT_QUEUE_LIMIT: '10000',
      ...(profile === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profile}` }),
      ...database?.env,
      ...env,
    },
  });
  const tables = await openDatabase(database?.settings ?? { dialect: 'sqlite', file: product.databaseFile }, silentLog);
  return {
    dialect,
    origin: product.origin,
    cpuMs: () => product.cpuMs(),
    tables: tables.forPlugin('bench', ['realtime']),
    async dispose() {
      await tables.close();
      await product.dispose();
      await database?.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function dropIn(folder: string, source: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const capabilities = { stream: true, toolCall: false, attachments: false, reasoning: false };
  const manifest = {
    manifestVersion: 1,
    key: 'bench-model',
    version: '0.0.0',
    title: 'Bench model',
    summary: 'A scripted model of a benchmark.',
    entry: 'index.js',
    contributes: { provider: [{ key: 'demo', facts: { capabilities } }] },
  };
  await writeFile(join(folder, 'plugin.json'), JSON.stringify(manifest));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(join(folder, 'index.js'), source);
}
