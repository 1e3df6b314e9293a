/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Observations that may wait to be routed; 64 more places are reserved for the platform's own. */
  readonly busCapacity: number;
  /** Observations that may wait in the inbox of one session. */
  readonly inboxCapacity: number;
  /** Concurrent agent turns over all sessions. */
  readonly concurrentTurns: number;
  /** The session of a message without one: one per user, or one for all. */
  readonly routing: 'user' | 'default';
  /** How long an idle session stays in memory. */
  readonly idleTtlSeconds: number;
  /** Interval of the sweep that removes idle sessions. */
  readonly idleSweepSeconds: number;
  /** Number of sessions that the sweep leaves in memory. */
  readonly idleMinimum: number;
  /** Interval of ticks; 0 = no ticks. */
  readonly tickSeconds: number;
  /** Replies that may wait in the queue of one egress adapter. */
  readonly egressQueue: number;
  /** Time limit of one send in milliseconds, unless the adapter declares its own. */
  readonly egressTimeoutMs: number;
  /** How long queued replies are still sent at a stop, milliseconds. */
  readonly egressDrainMs: number;
  /** Where counters and times of sessions are kept: memory, or sql to survive a restart. */
  readonly persistence: 'memory' | 'sql';
}
