import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase, silentLog } from '../../../core/sdk/testing/index.js';
import type { Figure, Measure } from '../parts/measure.js';
import { startPeer } from '../parts/peer.js';
import { startProduct } from '../parts/product.js';
import { dropSinkPlugin } from './sink-plugin.js';

const POLL_INTERVAL_MS = 50;

/** Inserts the rows of a long outage: memory, outbox row and audit row. */
async function fillOutbox(file: string, rows: number): Promise<void> {
  const host = await openDatabase({ dialect: 'sqlite', file }, silentLog);
  const numbers = 'with recursive row(i) as (select 1 union all select i + 1 from row where i < ?)';
  const sha = `printf('%064x', i)`;
  try {
    const database = host.forPlugin('bench', ['logbook', 'governance']);
    await database.statement(
      `insert into {logbook.outbox_memory} (outbox_id, target_space, payload_md, payload_sha, memory_key, correlation_id,
         kind, last_error, last_error_class)
       ${numbers} select i, 'private:bench', printf('%0400d', i), ${sha}, 'mk_' || i, printf('corr-%016x', i), 'FACT',
         'OpenMemory connection failed: ECONNREFUSED', 'unavailable' from row`,
      [rows],
    );
    await database.statement(
      `insert into {logbook.memories} (memory_key, space, payload_md, payload_sha, backend, state, outbox_id)
       ${numbers} select 'mk_' || i, 'private:bench', printf('%0400d', i), ${sha}, 'openmemory', 'queued', i from row`,
      [rows],
    );
    await database.statement(
      `insert into {governance.write_audit} (action, reason, status, operation, memory_key, evidence_refs_json)
       ${numbers} select 'redirect', 'OPENMEMORY_WRITE_FAILED:connection_error', 'redirected', 'memory_store', 'mk_' || i,
         '{"outbox_id":' || i || '}' from row`,
      [rows],
    );
  } finally {
    await host.close();
  }
}

async function countPending(file: string): Promise<number> {
  const host = await openDatabase({ dialect: 'sqlite', file }, silentLog);
  try {
    const { rows } = await host
      .forPlugin('bench', ['logbook'])
      .statement<{ n: number }>(`select count(*) as n from {logbook.outbox_memory} where status = 'pending'`);
    return rows[0]?.n ?? 0;
  } finally {
    await host.close();
  }
}

interface Drain {
  readonly name: string;
  readonly rows: number;
  readonly backend: 'openmemory' | 'sink';
  readonly target?: string;
}

/** Starts a server on a full outbox and waits until it is empty. */
async function drain({ name, rows, backend, target }: Drain, say: (line: string) => void): Promise<readonly Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'mortise-bench-'));
  const sink = await startPeer('bare-sink');
  const origin = `http://127.0.0.1:${sink.hello}`;
  try {
    const idle = await startProduct({ folder });
    const { databaseFile } = idle;
    await idle.dispose();
    say(`${rows} rows in the outbox`);
    await fillOutbox(databaseFile, rows);
    await dropSinkPlugin(join(folder, 'plugins'), origin);
    const product = await startProduct({
      folder,
      plugins: { sink: { enabled: true } },
      env: { OPENMEMORY_BASE_URL: origin, MORTISE_MEMORY_BACKEND: backend },
    });
    try {
      const [began, cpuFrom] = [performance.now(), product.cpuMs()];
      const left = rows - Number(await sink.ask({}));
      while (Number(await sink.ask({})) < rows) await delay(POLL_INTERVAL_MS);
      while ((await countPending(databaseFile)) > 0) await delay(POLL_INTERVAL_MS);
      const seconds = (performance.now() - began) / 1_000;
      const cpu = ((product.cpuMs() - cpuFrom) * 1_000) / left;
      return [
        { name, value: left / seconds, unit: 'rows/s', ...(target === undefined ? {} : { target }) },
        { name: '  CPU of the server', value: cpu, unit: 'µs each' },
      ];
    } finally {
      await product.dispose();
    }
  } finally {
    sink.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Rate at which a full outbox drains into a backend that answers immediately. */
export const measureOutbox: Measure = async ({ say }) => [
  ...(await drain({ name: 'outbox, one request per row', rows: 20_000, backend: 'openmemory' }, say)),
  ...(await drain({ name: 'outbox, a backend with batches', rows: 100_000, backend: 'sink', target: '>= 10000' }, say)),
];
