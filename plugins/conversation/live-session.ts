import type { GateDecision, Observation, RecentObservation, SessionState, SessionSummary } from 'mortise/sdk';
import type { HeldHandler } from './held-handler.js';
import { fanOutSource } from './route-observation.js';
import type { Ticket } from './ticket.js';

export interface Accepted {
  readonly ticket: Ticket;
  readonly handlers: readonly HeldHandler[];
  /** It will be a turn: what `busy` and the queue limits count. */
  readonly turn: boolean;
}

const recentLimit = 20;

/** What is known of one session while it lives: its inbox, its worker and its recent past. */
export class LiveSession {
  readonly key: string;
  readonly createdAt: number;
  readonly #inbox: Accepted[] = [];
  readonly #recent: RecentObservation[] = [];
  lastActiveAt: number | null = null;
  processed = 0;
  errors = 0;
  /** Set while a worker runs. */
  working = false;
  /** Turns that run or stand in the inbox. */
  turns = 0;

  constructor(key: string, now: number) {
    this.key = key;
    this.createdAt = now;
  }

  get depth(): number {
    return this.#inbox.length;
  }

  get idle(): boolean {
    return !this.working && this.#inbox.length === 0;
  }

  push(accepted: Accepted): void {
    this.#inbox.push(accepted);
    if (!accepted.turn) return;
    this.turns += 1;
    accepted.ticket.onSettled(() => {
      this.turns -= 1;
    });
  }

  shift(): Accepted | undefined {
    return this.#inbox.shift();
  }

  /** Takes a ticket that gave up out of the inbox. */
  remove(ticket: Ticket): void {
    const index = this.#inbox.findIndex((one) => one.ticket === ticket);
    if (index < 0) return;
    for (const handler of this.#inbox[index]?.handlers ?? []) handler.release();
    this.#inbox.splice(index, 1);
  }

  /** Notes an observation when its handling begins. */
  record(observation: Observation, now: number): void {
    // A tick that goes to everyone is no sign of life.
    if (observation.source_name !== fanOutSource) this.lastActiveAt = now;
    this.processed += 1;
    this.#recent.push({
      obs_id: observation.obs_id,
      obs_type: observation.obs_type,
      at: now,
      action: null,
      reason: null,
    });
    if (this.#recent.length > recentLimit) this.#recent.shift();
  }

  recordDecision(observation: Observation, { action, reason }: GateDecision): void {
    this.#amend(observation, { action, reason });
  }

  recordFault(observation: Observation, error: string): void {
    this.errors += 1;
    this.#amend(observation, { error });
  }

  summary(): SessionSummary {
    return {
      session_key: this.key,
      created_at: this.createdAt,
      last_active_at: this.lastActiveAt,
      processed_total: this.processed,
      error_total: this.errors,
      queued: this.#inbox.length,
      running: this.working,
    };
  }

  state(): SessionState {
    return {
      session_key: this.key,
      created_at: this.createdAt,
      last_active_at: this.lastActiveAt,
      processed_total: this.processed,
      error_total: this.errors,
      recent_obs: [...this.#recent],
    };
  }

  #amend(observation: Observation, members: Partial<RecentObservation>): void {
    const index = this.#recent.findLastIndex(({ obs_id }) => obs_id === observation.obs_id);
    const entry = this.#recent[index];
    if (entry) this.#recent[index] = { ...entry, ...members };
  }
}
