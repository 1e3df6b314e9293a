/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Observations that may wait to be routed; 64 more places are kept for the platform's own. */
  readonly busCapacity: number;
  /** Observations that may wait in one session. */
  readonly inboxCapacity: number;
  /** Agent turns that may run at the same time, over all sessions. */
  readonly concurrentTurns: number;
  /** Where a message without a session goes: to one session per user, or to one for all. */
  readonly routing: 'user' | 'default';
  /** How long an idle session stays in memory. */
  readonly idleTtlSeconds: number;
  /** How often idle sessions are looked for. */
  readonly idleSweepSeconds: number;
  /** Sessions that always stay in memory. */
  readonly idleMinimum: number;
  /** How often a tick is published; 0 = never. */
  readonly tickSeconds: number;
  /** Replies that may wait for one way out. */
  readonly egressQueue: number;
  /** How long one send may take, milliseconds, unless the adapter says otherwise. */
  readonly egressTimeoutMs: number;
  /** How long replies that wait are still sent when the process stops, milliseconds. */
  readonly egressDrainMs: number;
  /** Whether what is known of sessions outlives the process: memory or sql. */
  readonly persistence: 'memory' | 'sql';
}
