import type { SessionSummary } from 'mortise/contracts/conversation';
import type { SessionState } from 'mortise/contracts/gate';
import type { Observation } from 'mortise/sdk';
import { RecentObservations } from './recent-observations.js';
import { fanOutSource } from './route-observation.js';
import { SessionView } from './session-view.js';
import type { Ticket } from './ticket.js';

/** Sums over all sessions, kept as they change: there may be a million of them. */
export interface Load {
  /** Sessions whose worker runs. */
  running: number;
  /** Observations in inboxes. */
  queued: number;
}

/** What outlives a session that is stored. Epoch milliseconds. */
export type SessionRecord = Pick<
  SessionState,
  'session_key' | 'created_at' | 'last_active_at' | 'processed_total' | 'error_total'
>;

/** What is known of one session while it lives: its inbox, its worker and its recent past. */
export class LiveSession {
  readonly key: string;
  createdAt: number;
  /** For stages of the gate: read when asked. */
  readonly view: SessionView;
  readonly recent = new RecentObservations();
  readonly #inbox: Ticket[] = [];
  readonly #load: Load;
  #working = false;
  lastActiveAt: number | null = null;
  processed = 0;
  errors = 0;
  /** What the worker has in hand. */
  current: Ticket | undefined;
  /** Accepted for it and still on the bus. */
  coming = 0;
  /** Turns that run or stand in the inbox: what `busy` and the queue limits count. */
  turns = 0;

  /** @param now epoch milliseconds */
  constructor(key: string, now: () => number, load: Load) {
    this.key = key;
    this.#load = load;
    this.createdAt = now();
    this.view = new SessionView(this, now);
  }

  /** A worker runs. */
  get working(): boolean {
    return this.#working;
  }

  set working(working: boolean) {
    if (working !== this.#working) this.#load.running += working ? 1 : -1;
    this.#working = working;
  }

  /** Takes over what was known of it before. */
  restore({ created_at, last_active_at, processed_total, error_total }: SessionRecord): void {
    this.createdAt = created_at;
    this.lastActiveAt = last_active_at;
    this.processed = processed_total;
    this.errors = error_total;
  }

  get depth(): number {
    return this.#inbox.length;
  }

  get idle(): boolean {
    return !this.#working && this.#inbox.length === 0 && this.coming === 0;
  }

  /** All that is not settled: what the worker has in hand, then the inbox in order. */
  get open(): readonly Ticket[] {
    return this.current ? [this.current, ...this.#inbox] : [...this.#inbox];
  }

  push(ticket: Ticket): void {
    this.#inbox.push(ticket);
    this.#load.queued += 1;
  }

  shift(): Ticket | undefined {
    this.current = this.#inbox.shift();
    if (this.current) this.#load.queued -= 1;
    return this.current;
  }

  /** Takes a ticket that gave up out of the inbox. */
  remove(ticket: Ticket): void {
    const index = this.#inbox.indexOf(ticket);
    if (index < 0) return;
    this.#inbox.splice(index, 1);
    this.#load.queued -= 1;
  }

  /** Notes an observation when its handling begins. @param now epoch milliseconds */
  record(observation: Observation, now: number): void {
    // A tick that goes to everyone is no sign of life.
    if (observation.source_name !== fanOutSource) this.lastActiveAt = now;
    this.processed += 1;
    this.recent.begin(observation, now);
  }

  /** @param error step and class of a fault while the observation in hand was handled */
  recordFault(error: string): void {
    this.errors += 1;
    this.recent.failed(error);
  }

  /** As it is now. */
  state(): SessionState {
    const idleSeconds = this.view.idleSeconds();
    return {
      session_key: this.key,
      created_at: this.createdAt,
      last_active_at: this.lastActiveAt,
      processed_total: this.processed,
      error_total: this.errors,
      recent_obs: this.recent.list(),
      idleSeconds: () => idleSeconds,
    };
  }

  summary(): SessionSummary {
    return {
      session_key: this.key,
      created_at: this.createdAt,
      last_active_at: this.lastActiveAt,
      processed_total: this.processed,
      error_total: this.errors,
      queued: this.#inbox.length,
      running: this.#working,
    };
  }
}
