import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Due jobs by pg-boss: queued for one instant, fetched in batches and completed. */
interface PeerFigures {
  readonly version: string;
  readonly jobs: number;
  /** From the instant to the last completion. */
  readonly perSecond: number;
  /** Milliseconds from the instant to the handler. */
  readonly p50: number;
  readonly p99: number;
}

interface Boss {
  start(): Promise<unknown>;
  stop(options: { readonly graceful: boolean }): Promise<void>;
  createQueue(name: string): Promise<void>;
  insert(name: string, jobs: readonly object[]): Promise<unknown>;
  work(name: string, options: object, run: (jobs: readonly unknown[]) => Promise<void>): Promise<string>;
}

const workers = 8;
const batchSize = 100;

async function runPgBoss(folder: string, place: object, count: number): Promise<PeerFigures> {
  const require = createRequire(join(folder, 'package.json'));
  const { version } = require('pg-boss/package.json') as { readonly version: string };
  const PgBoss = require('pg-boss') as new (options: object) => Boss;
  const boss = new PgBoss({ ...place, max: workers });
  await boss.start();
  try {
    await boss.createQueue('due');
    const at = new Date(Date.now() + 8_000);
    for (let from = 0; from < count; from += 1_000) {
      const size = Math.min(1_000, count - from);
      await boss.insert(
        'due',
        Array.from({ length: size }, () => ({ data: {}, startAfter: at })),
      );
    }
    const late: number[] = [];
    const done = new Promise<void>((resolve) => {
      const options = { batchSize, pollingIntervalSeconds: 0.5 };
      for (let worker = 0; worker < workers; worker += 1) {
        void boss.work('due', options, async (jobs) => {
          for (const _ of jobs) late.push(Date.now() - at.getTime());
          if (late.length >= count) resolve();
        });
      }
    });
    await done;
    const seconds = (Date.now() - at.getTime()) / 1_000;
    late.sort((a, b) => a - b);
    return {
      version,
      jobs: count,
      perSecond: Math.round(count / seconds),
      p50: late[Math.floor(count * 0.5)] ?? 0,
      p99: late[Math.floor(count * 0.99)] ?? 0,
    };
  } finally {
    await boss.stop({ graceful: false });
  }
}

// pg-boss.js <folder where it is installed> <connection as JSON> <number of jobs>; prints figures as JSON.
const [folder = '', place = '{}', jobs = '1000'] = process.argv.slice(2);
process.stdout.write(JSON.stringify(await runPgBoss(folder, JSON.parse(place) as object, Number(jobs))));
process.exit(0);
