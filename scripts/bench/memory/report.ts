import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase, silentLog } from '../../../core/sdk/testing/index.js';
import { closedLoop, percentile } from '../parts/closed-loop.js';
import type { Measure } from '../parts/measure.js';
import { createPoster } from '../parts/post-json.js';
import { startProduct } from '../parts/product.js';

const rows = 1_000_000;

/** The reliability report over an audit trail of a million rows. */
export const measureReport: Measure = async ({ say }) => {
  const folder = await mkdtemp(join(tmpdir(), 'mortise-bench-'));
  try {
    const empty = await startProduct({ folder });
    const { databaseFile } = empty;
    await empty.dispose();
    say(`${rows} audit rows`);
    await fillAudit(databaseFile);
    const product = await startProduct({ folder });
    const poster = createPoster(product.origin, 1);
    try {
      const read = async (): Promise<void> => {
        const { status, text } = await poster.get('/reliability/report');
        if (status !== 200 || !text.includes(String(rows / 2))) throw new Error(`report answered ${status}: ${text}`);
      };
      const first = await closedLoop(1, 0.001, read);
      const { latencies } = await closedLoop(1, 5, read);
      return [
        { name: `report over ${rows} audit rows, first`, value: first.latencies[0] ?? Number.NaN, unit: 'ms' },
        { name: '  p50', value: percentile(latencies, 0.5), unit: 'ms', target: '<= 500' },
      ];
    } finally {
      poster.close();
      await product.dispose();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

async function fillAudit(file: string): Promise<void> {
  const host = await openDatabase({ dialect: 'sqlite', file }, silentLog);
  try {
    const database = host.forPlugin('bench', ['governance']);
    await database.statement(
      `insert into {governance.write_audit}
         (actor_user_id, target_space, action, reason, payload_sha, correlation_id, status, operation, evidence_refs_json)
       with recursive row(i) as (select 1 union all select i + 1 from row where i < ?)
       select 'u' || (i % 50), 'private:u' || (i % 50),
         case when i % 2 = 0 then 'allow' when i % 4 = 1 then 'redirect' else 'reject' end,
         case when i % 2 = 0 then 'policy:private_space' when i % 4 = 1 then 'actor_unknown:degrade' else 'policy:denied' end,
         printf('%064x', i), printf('corr-%016x', i), 'success', 'memory_store',
         '{"source":"gateway","extra":{"seq":' || i || '}}'
       from row`,
      [rows],
    );
  } finally {
    await host.close();
  }
}
