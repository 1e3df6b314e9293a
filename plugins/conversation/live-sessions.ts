import type { SessionSummary } from 'mortise/sdk';
import { LiveSession } from './live-session.js';
import { systemSession } from './route-observation.js';

/** The sessions that are in memory, most recently used last. */
export class LiveSessions {
  readonly #sessions = new Map<string, LiveSession>();
  readonly #now: () => number;
  #collected = 0;

  constructor(now: () => number) {
    this.#now = now;
    this.open(systemSession);
  }

  get size(): number {
    return this.#sessions.size;
  }

  get collected(): number {
    return this.#collected;
  }

  get(key: string): LiveSession | undefined {
    return this.#sessions.get(key);
  }

  all(): Iterable<LiveSession> {
    return this.#sessions.values();
  }

  open(key: string): LiveSession {
    const known = this.#sessions.get(key);
    const session = known ?? new LiveSession(key, this.#now());
    // Kept in order of use, so that collecting looks at the idle ones first.
    if (known) this.#sessions.delete(key);
    this.#sessions.set(key, session);
    return session;
  }

  /** Newest activity first. */
  summaries(): readonly SessionSummary[] {
    const age = (one: SessionSummary): number => one.last_active_at ?? one.created_at;
    return [...this.#sessions.values()].map((session) => session.summary()).sort((a, b) => age(b) - age(a));
  }

  /**
   * Forgets sessions that have been idle for `ttlMs`, longest idle first, down to `minimum`. Never `system`, and never
   * one that works or has something in its inbox.
   */
  collect(ttlMs: number, minimum: number): number {
    const now = this.#now();
    let removed = 0;
    for (const session of this.#sessions.values()) {
      if (this.#sessions.size <= minimum) break;
      if (session.key === systemSession || !session.idle) continue;
      if (now - (session.lastActiveAt ?? session.createdAt) < ttlMs) continue;
      this.#sessions.delete(session.key);
      removed += 1;
    }
    this.#collected += removed;
    return removed;
  }
}
