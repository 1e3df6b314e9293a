import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ServerProcess, startServer } from '../../../core/sdk/testing/index.js';

/** The shipped product in a separate process, on SQLite in a temporary folder. */
export interface Product {
  readonly origin: string;
  readonly server: ServerProcess;
  readonly databaseFile: string;
  /** CPU time used so far, milliseconds; NaN where the system does not report it. */
  cpuMs(): number;
  dispose(): Promise<void>;
}

interface ProductOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Rows added to the shipped `plugins.json`. */
  readonly plugins?: Readonly<Record<string, { readonly enabled: boolean }>>;
  /** A folder prepared by the caller. */
  readonly folder?: string;
}

const shipped = new URL('../../../../plugins.json', import.meta.url);

export async function startProduct({ env = {}, plugins = {}, folder: given }: ProductOptions = {}): Promise<Product> {
  const folder = given ?? (await mkdtemp(join(tmpdir(), 'mortise-bench-')));
  const wanted = JSON.parse(readFileSync(shipped, 'utf8')) as { readonly plugins: object };
  const server = await startServer({
    folder,
    plugins: { ...wanted, plugins: { ...wanted.plugins, ...plugins } },
    env: { MORTISE_TICK_SECONDS: '0', ...env },
  });
  return {
    origin: server.origin,
    server,
    databaseFile: join(folder, 'data', 'mortise.db'),
    cpuMs: () => cpuMsOf(server.child.pid ?? 0),
    async dispose() {
      await server.end('SIGTERM');
      await server.dispose();
      if (given === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** User and system time of a process, from /proc, in units of 10 ms. */
export function cpuMsOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return Number.NaN;
  }
}
