import type { LedgerJob } from '../checker/check-ledger.js';
import { randomStream } from '../plan/random-stream.js';

const zones = ['UTC', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Pacific/Chatham'] as const;
const all = Array.from({ length: 60 }, (_, index) => index);

/**
 * Random jobs: intervals of 1 to 5 seconds, and expressions with seconds in five zones, under all policies.
 *
 * @param options.catchUp false: no job runs all its missed slots, which would be thousands after an hour
 */
export function planJobs(seed: number, count: number, { catchUp = true } = {}): readonly LedgerJob[] {
  const random = randomStream(seed, 'cron jobs');
  return Array.from({ length: count }, (_, index) => {
    const policy = random.pick<LedgerJob['policy']>(['run_once', catchUp ? 'run_all' : 'run_once', 'skip']);
    const onInterrupt = random.chance(0.7) ? 'safe' : 'retry';
    const shared = { id: `job-${index}`, policy, onInterrupt } as const;
    if (random.chance(0.5)) return { ...shared, interval: random.between(1, 5) };
    const [step, offset] = [random.between(1, 6), random.between(0, 5)];
    const seconds = all.filter((second) => second >= offset && (second - offset) % step === 0);
    const odd = random.chance(0.3);
    return {
      ...shared,
      cron: { seconds, minutes: odd ? all.filter((minute) => minute % 2 === 1) : all, zone: random.pick(zones) },
    };
  });
}

/** The body that creates a planned job. */
export function jobBody({ id, interval, cron, policy, onInterrupt }: LedgerJob): object {
  const minutes = cron?.minutes.length === 60 ? '*' : '1/2';
  return {
    id,
    name: id,
    enabled: true,
    schedule:
      interval === undefined
        ? { type: 'cron', cron: `${cron?.seconds.join(',')} ${minutes} * * * *`, timezone: cron?.zone }
        : { type: 'interval', cron: `${interval}s` },
    text: 'tick',
    dispatch: { channel: 'chaos-sink', target: { user_id: 'u', session_id: id } },
    runtime: {
      max_concurrency: 3,
      timeout_seconds: 20,
      misfire_policy: policy,
      overlap_policy: 'queue',
      on_interrupt: onInterrupt,
    },
  };
}
