/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Maximum number of observations waiting to be routed; 64 additional slots are reserved for the platform's own. */
  readonly busCapacity: number;
  /** Maximum number of observations in the inbox of one session. */
  readonly inboxCapacity: number;
  /** Maximum number of concurrent agent turns across all sessions. */
  readonly concurrentTurns: number;
  /**
   * Session of a message that names none, always one of its user: user = a session of its own, default = the session named default.
   */
  readonly routing: 'user' | 'default';
  /** How long an idle session stays in memory, in seconds. */
  readonly idleTtlSeconds: number;
  /** Interval in seconds of the sweep that removes idle sessions. */
  readonly idleSweepSeconds: number;
  /** Number of sessions that the sweep always keeps in memory. */
  readonly idleMinimum: number;
  /** Interval of ticks in seconds; 0 = no ticks. */
  readonly tickSeconds: number;
  /** Maximum number of replies in the queue of one egress adapter. */
  readonly egressQueue: number;
  /** Time limit of one send in milliseconds, unless the adapter declares its own. */
  readonly egressTimeoutMs: number;
  /** How long queued replies are still sent during shutdown, in milliseconds. */
  readonly egressDrainMs: number;
  /** Where session counters and times are stored: memory, or sql to survive a restart. */
  readonly persistence: 'memory' | 'sql';
}
