import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestDatabase, openDatabase, silentLog, until } from '../../../core/sdk/testing/index.js';
import { startProduct } from '../parts/product.js';
import { fillJobs } from './fill-jobs.js';
import { dropInSink, type MemorySample } from './sink.js';

const minutes = 24 * 60;
const mebibyte = 1_048_576;
/** Share of the samples that are taken while caches fill. */
const warmUp = 1 / 3;
const limitMs = 3_600_000;

/**
 * Runs the slots of a day, one a minute, as fast as possible: the jobs were due all day and catch up with every slot. The
 * slope of the memory shows whether the process leaks.
 */
export async function oneDay(
  dialect: 'sqlite' | 'postgres',
  jobs: number,
): Promise<Readonly<Record<string, string | number>>> {
  const folder = await mkdtemp(join(tmpdir(), 'mortise-bench-day-'));
  const memory = join(folder, 'memory');
  const store = await createTestDatabase(dialect);
  await dropInSink(join(folder, 'plugins', 'bench-sink'));
  const product = await startProduct({
    folder,
    plugins: { 'bench-sink': { enabled: true } },
    env: {
      BENCH_MEMORY_FILE: memory,
      ...(store.settings.dialect === 'sqlite' ? { MORTISE_DATABASE_FILE: store.settings.file } : store.env),
    },
  });
  await until('the tables', async () => (await product.server.fetch('/cron/jobs')).ok, 30_000);
  const host = await openDatabase(store.settings, silentLog);
  const database = host.forPlugin('bench', ['cron']);
  try {
    const now = Math.floor(Date.now() / 1_000) * 1_000;
    const began = performance.now();
    await fillJobs(database, {
      prefix: 'day',
      count: jobs,
      seconds: 60,
      from: now - minutes * 60_000,
      runtime: { misfire_policy: 'run_all', max_concurrency: 1 },
    });
    const slots = jobs * minutes;
    await until(
      'the slots of the day',
      async () => {
        await sleep(500);
        const { rows } = await database.statement<{ ended: number | string }>(
          "select count(*) as ended from {cron.slots} where job_id like 'day-%' and outcome = 'succeeded'",
        );
        return Number(rows[0]?.ended) >= slots;
      },
      limitMs,
    );
    const took = Math.round((performance.now() - began) / 1_000);
    const lines = (await readFile(memory, 'utf8')).trim().split('\n');
    const samples = lines.map((line) => JSON.parse(line) as MemorySample).slice(Math.floor(lines.length * warmUp));
    return { scenario: `${dialect} day`, slots, seconds: took, ...grown('heap', samples), ...grown('rss', samples) };
  } finally {
    await product.server.end('SIGTERM');
    await product.server.dispose();
    await host.close();
    await store.drop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** First and last value after the warm-up, and the slope of the line through all of them by least squares; MiB, and MiB in 100,000 slots. */
function grown(name: 'heap' | 'rss', samples: readonly MemorySample[]): Readonly<Record<string, number>> {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [samples.map(({ texts }) => texts), samples.map((sample) => sample[name] / mebibyte)];
  const [middleX, middleY] = [mean(x), mean(y)];
  const together = mean(x.map((value, index) => (value - middleX) * ((y[index] ?? 0) - middleY)));
  const slope = together / mean(x.map((value) => (value - middleX) ** 2));
  const rounded = (value: number): number => Math.round(value * 100) / 100;
  return {
    [`${name}_mb_first`]: rounded(y[0] ?? Number.NaN),
    [`${name}_mb_last`]: rounded(y.at(-1) ?? Number.NaN),
    [`${name}_mb_per_100k`]: rounded(slope * 100_000),
  };
}
