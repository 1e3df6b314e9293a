import type { SessionSummary } from 'mortise/contracts/conversation';
import type { GateDecision, RecentObservation, SessionState } from 'mortise/contracts/gate';
import type { Observation } from 'mortise/sdk';
import { fanOutSource } from './observation/route-observation.js';
import type { Ticket } from './ticket.js';

/** Sums over all sessions, updated on every change: there may be a million sessions. */
export interface Load {
  /** Sessions whose worker is running. */
  running: number;
  /** Observations in inboxes. */
  queued: number;
}

/** The stored state of a session. Times are epoch milliseconds. */
export type SessionRecord = Pick<
  SessionState,
  'session_key' | 'created_at' | 'last_active_at' | 'processed_total' | 'error_total'
>;

/** One session in memory: its inbox, the state of its worker, its counters and recent observations. */
export class LiveSession {
  readonly key: string;
  createdAt: number;
  /** The read-only state that gate stages see. */
  readonly view: SessionView;
  readonly recent = new RecentObservations();
  readonly #inbox: Ticket[] = [];
  readonly #load: Load;
  #working = false;
  lastActiveAt: number | null = null;
  processed = 0;
  errors = 0;
  /** Ids of the principals that observations of this session were accepted from. */
  readonly publishers = new Set<string>();
  /** The ticket the worker is handling. */
  current: Ticket | undefined;
  /** Tickets accepted for this session and still on the bus. */
  onBus = 0;
  /** Running and queued turns: what `busy` and the queue limits count. */
  turns = 0;

  /** @param now epoch milliseconds */
  constructor(key: string, now: () => number, load: Load) {
    this.key = key;
    this.#load = load;
    this.createdAt = now();
    this.view = new SessionView(this, now);
  }

  get working(): boolean {
    return this.#working;
  }

  set working(working: boolean) {
    if (working !== this.#working) this.#load.running += working ? 1 : -1;
    this.#working = working;
  }

  /** Restores stored counters and times. */
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
    return !this.#working && this.#inbox.length === 0 && this.onBus === 0;
  }

  /** All unsettled tickets: the current one, then the inbox in order. */
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

  /** Removes a settled ticket from the inbox. */
  remove(ticket: Ticket): void {
    const index = this.#inbox.indexOf(ticket);
    if (index < 0) return;
    this.#inbox.splice(index, 1);
    this.#load.queued -= 1;
  }

  /** Counts an observation when its handling begins. @param now epoch milliseconds */
  record(observation: Observation, now: number): void {
    // Broadcast ticks do not count as activity.
    if (observation.source_name !== fanOutSource) this.lastActiveAt = now;
    this.processed += 1;
    this.recent.begin(observation, now);
  }

  /** @param error step and class of a fault of the current observation */
  recordFault(error: string): void {
    this.errors += 1;
    this.recent.failed(error);
  }

  /** A copy of the current state. */
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

/** Live read-only view of a session for gate stages. Values are computed on access: most stages read none of them. */
class SessionView implements SessionState {
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

type Entry = { -readonly [Member in keyof RecentObservation]: RecentObservation[Member] };

/** Recent observations of one session. */
const recentLimit = 20;

/** The newest observations of one session: a ring that reuses its entries, so that a busy session allocates nothing. */
class RecentObservations {
  // Allocated at its full size: a growing array over-allocates.
  #ring: (Entry | undefined)[] | undefined;
  #next = 0;
  #current: Entry | undefined;

  /** Starts the entry of an observation. @param at epoch milliseconds */
  begin({ obs_id, obs_type }: Observation, at: number): void {
    this.#ring ??= new Array(recentLimit);
    const old = this.#ring[this.#next];
    if (old) {
      old.obs_id = obs_id;
      old.obs_type = obs_type;
      old.at = at;
      old.action = null;
      old.reason = null;
      old.error = undefined;
      this.#current = old;
    } else {
      this.#current = { obs_id, obs_type, at, action: null, reason: null, error: undefined };
      this.#ring[this.#next] = this.#current;
    }
    this.#next = (this.#next + 1) % recentLimit;
  }

  /** Records the gate's decision on the current observation. */
  decided({ action, reason }: GateDecision): void {
    if (!this.#current) return;
    this.#current.action = action;
    this.#current.reason = reason;
  }

  /** Records the step and class of a fault of the current observation. */
  failed(error: string): void {
    if (this.#current) this.#current.error = error;
  }

  /** Oldest first. */
  list(): readonly RecentObservation[] {
    const ring = this.#ring ?? [];
    const inOrder = [...ring.slice(this.#next), ...ring.slice(0, this.#next)];
    return inOrder.flatMap((entry) => (entry ? [withoutUndefined(entry)] : []));
  }
}

function withoutUndefined({ error, ...entry }: Entry): RecentObservation {
  return error === undefined ? entry : { ...entry, error };
}
