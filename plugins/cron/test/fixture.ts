import type { Alert, Database } from 'mortise/sdk';
import { localPrincipal, silentLog, type TestEngine, temporaryPath } from 'mortise/sdk/testing';
import type { Clock } from '../clock.js';
import type { CronRun, CronSlot } from '../contract/index.js';
import type { CronDeps } from '../cron-deps.js';
import { cronMigrations } from '../migrations.js';
import { readJobSpec } from '../read-job-spec.js';
import { RunEvents } from '../run-events.js';
import { Scheduler } from '../scheduler.js';
import { readJob } from '../store/read-jobs.js';
import { listRuns, listSlots } from '../store/read-runs.js';
import { saveJob } from '../store/write-jobs.js';
import { textJob } from './platform.js';

/** A clock that a test sets. Monotonic time advances only with it, and never goes back. */
class TestClock implements Clock {
  #now: number;
  #passed = 0;

  constructor(at: string) {
    this.#now = Date.parse(at);
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#passed;
  }

  set(at: string): void {
    const to = Date.parse(at);
    this.#passed += Math.max(0, to - this.#now);
    this.#now = to;
  }

  advance(seconds: number): void {
    this.set(new Date(this.#now + seconds * 1_000).toISOString());
  }
}

/** What a channel does with a text; resolves when it was sent. */
export type Send = (text: string, key: string, signal: AbortSignal) => Promise<void>;

/** A scheduler on a real database, with a clock and a channel of the test. */
export interface TestScheduler {
  readonly database: Database;
  readonly clock: TestClock;
  readonly scheduler: Scheduler;
  readonly deps: CronDeps;
  readonly alerts: readonly Alert[];
  /** Saves a job whose text goes to the channel. */
  save(id: string, cron: string, more?: object): Promise<void>;
  /** Ticks at an instant and waits until what was started has ended. */
  tickAt(at: string): Promise<void>;
  tick(): Promise<void>;
  slots(id: string): Promise<readonly CronSlot[]>;
  runs(id: string): Promise<readonly CronRun[]>;
  state(id: string): Promise<object | undefined>;
}

const sender = 'sender';

export async function testScheduler(
  engine: TestEngine,
  send: Send,
  {
    at = '2026-11-20T10:00:00Z',
    id = 'one',
    clock = new TestClock(at),
    alive = () => [id] as readonly string[],
    leaseMs = 30_000,
  } = {},
): Promise<TestScheduler> {
  const database = await engine.open('cron', ['cron']);
  await database.migrate(cronMigrations);
  const alerts: Alert[] = [];
  const channel = { key: sender, plugin: sender, facts: {}, offers: [], active: true };
  const points = {
    list: () => [channel],
    call: (
      _point: string,
      _key: string,
      run: (value: object, ctx: object) => unknown,
      options: { signal: AbortSignal },
    ) =>
      run(
        {
          sendText: ({ text, deliveryId }: { text: string; deliveryId: string }) =>
            send(text, deliveryId, options.signal),
        },
        options,
      ),
  };
  const deps: CronDeps = {
    database,
    clock,
    log: silentLog,
    instances: {
      id,
      list: async () => alive().map((one) => ({ id: one, host: 'h', pid: 1, startedAt: at, alive: true })),
    },
    points: points as unknown as CronDeps['points'],
    ownerNow: (owner) => owner,
    types: {
      facts: () => undefined,
      problem: async () => undefined,
      missing: async () => undefined,
      run: async () => ({}),
    },
    sessions: { turnByKey: async () => undefined } as unknown as CronDeps['sessions'],
    turns: () => undefined,
    channels: () => undefined,
    metrics: { slots() {}, started() {}, finished() {}, tick() {} },
    events: new RunEvents(database, silentLog, () => undefined),
    alert: (alert) => void alerts.push(alert),
    leaseFolder: temporaryPath('leases'),
    leaseMs,
    maxRuns: 16,
    alertAfterFailures: 3,
  };
  const scheduler = new Scheduler(deps, { executes: true });
  const settled = async (): Promise<void> => {
    await scheduler.tick();
    await scheduler.started();
  };
  return {
    database,
    clock,
    scheduler,
    deps,
    alerts,
    async save(jobId, cron, more = {}) {
      const body = textJob(jobId, cron, { dispatch: { channel: sender }, ...more });
      await saveJob(deps, readJobSpec(body, clock.now()), { principal: localPrincipal });
    },
    async tickAt(instant) {
      clock.set(instant);
      await settled();
      while (scheduler.running > 0) {
        await new Promise((resolve) => setImmediate(resolve));
        await scheduler.started();
      }
    },
    tick: settled,
    slots: (jobId) => listSlots(database, { jobId, from: undefined, to: undefined, limit: 5_000, after: undefined }),
    runs: async (jobId) =>
      (await listRuns(database, { jobId, status: undefined, limit: 5_000, before: undefined })).map(({ run }) => run),
    state: async (jobId) => (await readJob(database, jobId))?.state,
  };
}
