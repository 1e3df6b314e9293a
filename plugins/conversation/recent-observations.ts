import type { GateDecision, RecentObservation } from 'mortise/contracts/gate';
import type { Observation } from 'mortise/sdk';

type Entry = { -readonly [Member in keyof RecentObservation]: RecentObservation[Member] };

/** How many a session remembers. */
const limit = 20;

/** The newest observations of one session: a ring whose places are used again, so that a busy session makes no garbage. */
export class RecentObservations {
  // With all its places from the start: a list that grows keeps room that is never used.
  #ring: (Entry | undefined)[] | undefined;
  #next = 0;
  #current: Entry | undefined;

  /** Notes an observation when its handling begins. @param at epoch milliseconds */
  begin({ obs_id, obs_type }: Observation, at: number): void {
    this.#ring ??= new Array(limit);
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
    this.#next = (this.#next + 1) % limit;
  }

  /** What the gate said of the one that is being handled. */
  decided({ action, reason }: GateDecision): void {
    if (!this.#current) return;
    this.#current.action = action;
    this.#current.reason = reason;
  }

  /** Step and class of a fault of the one that is being handled. */
  failed(error: string): void {
    if (this.#current) this.#current.error = error;
  }

  /** Oldest first. */
  list(): readonly RecentObservation[] {
    const ring = this.#ring ?? [];
    const inOrder = [...ring.slice(this.#next), ...ring.slice(0, this.#next)];
    return inOrder.flatMap((entry) => (entry ? [shown(entry)] : []));
  }
}

function shown({ error, ...entry }: Entry): RecentObservation {
  return error === undefined ? entry : { ...entry, error };
}
