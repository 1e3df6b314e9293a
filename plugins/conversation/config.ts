export interface Config {
  readonly busCapacity: number;
  readonly inboxCapacity: number;
  readonly concurrentTurns: number;
  readonly routing: 'user' | 'default';
  readonly idleTtlSeconds: number;
  readonly idleSweepSeconds: number;
  readonly idleMinimum: number;
  /** 0 = no ticks. */
  readonly tickSeconds: number;
  readonly egressQueue: number;
  readonly egressTimeoutMs: number;
  readonly egressDrainMs: number;
  /** `sql`: counters and times of sessions survive a restart. */
  readonly persistence: 'memory' | 'sql';
}
