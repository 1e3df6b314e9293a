import type { RecentObservation, SessionState } from 'mortise/contracts/gate';
import type { LiveSession } from './live-session.js';

/** A session as stages and other plugins may see it: read when asked, so that nobody pays for what nobody looks at. */
export class SessionView implements SessionState {
  readonly #session: LiveSession;
  readonly #now: () => number;

  /** @param now epoch milliseconds */
  constructor(session: LiveSession, now: () => number) {
    this.#session = session;
    this.#now = now;
    Object.freeze(this);
  }

  get session_key(): string {
    return this.#session.key;
  }

  get created_at(): number {
    return this.#session.createdAt;
  }

  get last_active_at(): number | null {
    return this.#session.lastActiveAt;
  }

  get processed_total(): number {
    return this.#session.processed;
  }

  get error_total(): number {
    return this.#session.errors;
  }

  get recent_obs(): readonly RecentObservation[] {
    return this.#session.recent.list();
  }

  idleSeconds(): number | null {
    const { lastActiveAt } = this.#session;
    return lastActiveAt === null ? null : Math.max(this.#now() - lastActiveAt, 0) / 1_000;
  }
}
