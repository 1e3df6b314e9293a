import type { SessionSummary } from 'mortise/contracts/conversation';
import type { SessionState } from 'mortise/contracts/gate';
import { LiveSession, type Load, type SessionRecord } from './live-session.js';
import { systemSession } from './observation/route-observation.js';

/** The sessions in memory. */
export class LiveSessions {
  readonly #sessions = new Map<string, LiveSession>();
  readonly #now: () => number;
  readonly #load: Load = { running: 0, queued: 0 };

  /** @param now epoch milliseconds */
  constructor(now: () => number) {
    this.#now = now;
    this.open(systemSession);
  }

  get size(): number {
    return this.#sessions.size;
  }

  get load(): Readonly<Load> {
    return this.#load;
  }

  get(key: string): LiveSession | undefined {
    return this.#sessions.get(key);
  }

  /** Whether a turn of the session is running or queued. */
  busy(key: string): boolean {
    return (this.#sessions.get(key)?.turns ?? 0) > 0;
  }

  state(key: string): SessionState | undefined {
    return this.#sessions.get(key)?.state();
  }

  all(): Iterable<LiveSession> {
    return this.#sessions.values();
  }

  open(key: string): LiveSession {
    const known = this.#sessions.get(key);
    if (known) return known;
    const made = new LiveSession(key, this.#now, this.#load);
    this.#sessions.set(key, made);
    return made;
  }

  restore(records: readonly SessionRecord[]): void {
    for (const record of records) this.open(record.session_key).restore(record);
  }

  /** Newest activity first. */
  summaries(): readonly SessionSummary[] {
    const age = (one: SessionSummary): number => one.last_active_at ?? one.created_at;
    return [...this.#sessions.values()].map((session) => session.summary()).sort((a, b) => age(b) - age(a));
  }

  /**
   * Removes sessions that have been idle for `ttlMs`, longest idle first, down to `minimum` sessions. Never removes
   * `system`, a session with a running worker or one with accepted observations.
   *
   * @returns the removed keys
   */
  collect(ttlMs: number, minimum: number): readonly string[] {
    if (this.#sessions.size <= minimum) return [];
    const until = this.#now() - ttlMs;
    const idle = [...this.#sessions.values()].filter(
      (session) => session.key !== systemSession && session.idle && activityOf(session) <= until,
    );
    const removable = this.#sessions.size - minimum;
    if (idle.length > removable) idle.sort((a, b) => activityOf(a) - activityOf(b)).length = removable;
    for (const { key } of idle) this.#sessions.delete(key);
    return idle.map(({ key }) => key);
  }
}

function activityOf({ lastActiveAt, createdAt }: LiveSession): number {
  return lastActiveAt ?? createdAt;
}
