import type { GateDecision, SessionState } from 'mortise/contracts/gate';
import type { CallOptions, Observation, ObservationError, ObservationInput } from 'mortise/sdk';
import type { ObserveRequest } from './input-adapter.js';
import type { ReplyPort } from './observation-handler.js';
import type { PublishRefusal, PublishResult } from './publish-result.js';

/** A live session as a list shows it. */
export interface SessionSummary {
  readonly session_key: string;
  /** Epoch milliseconds. */
  readonly created_at: number;
  readonly last_active_at: number | null;
  readonly processed_total: number;
  readonly error_total: number;
  /** Observations that wait in its inbox. */
  readonly queued: number;
  readonly running: boolean;
}

/** How an input adapter says who it is, so that a cooldown can stop it alone. */
export interface PublishOptions {
  /** The source's name when absent. */
  readonly adapter?: string | undefined;
  /** Told once, when the gate has decided. */
  readonly decided?: ((decision: GateDecision) => void) | undefined;
}

/** An adapter whose observations are refused for a while. */
export interface AdapterCooldown {
  readonly adapter: string;
  /** Monotonic milliseconds. */
  readonly until: number;
  readonly reason: string;
}

/** How long a submitter lets its observation stand behind others of its session. */
export interface QueueWait {
  /** How many of them may stand in the session's queue; one more is `queue_full`. */
  readonly limit: number;
  /** Milliseconds until the handler must have begun; then `queue_timeout`. 0: no waiting, `busy` at once. */
  readonly timeoutMs: number;
}

/** A call context can be handed on as it is: its signal says that the caller has left. */
export interface SubmitOptions extends CallOptions, PublishOptions {
  /** Receives the events of the turn. */
  readonly port?: ReplyPort | undefined;
  readonly wait: QueueWait;
  /** Handed to the handler as it is; never stored. */
  readonly request?: unknown;
}

/**
 * How a submitted observation ended:
 * - `handled`: its handler ran to its end; `value` is what it returned.
 * - `refused`: the gate dropped or sank it.
 * - `error`: its handler failed unexpectedly.
 * - `cancelled`: the caller left, or the process is stopping.
 * - `busy`: the session is busy and the caller does not wait, or waiting would never end.
 * - `queue_full`, `queue_timeout`: limits of the caller's own wait.
 * - `backpressure`: the bus had no room for a second.
 * - `cooldown`: its adapter is cooling down.
 * - `invalid`, `closed`: never accepted.
 */
export type Settlement =
  | 'handled'
  | 'refused'
  | 'error'
  | 'cancelled'
  | 'busy'
  | 'queue_full'
  | 'queue_timeout'
  | 'backpressure'
  | 'cooldown'
  | 'invalid'
  | 'closed';

export interface Settled {
  readonly outcome: Settlement;
  /** Absent when the gate was not reached. */
  readonly decision?: GateDecision;
  /** Absent when it was invalid. */
  readonly observation?: Observation;
  readonly value?: unknown;
  readonly errors?: readonly ObservationError[];
}

export interface BusStats {
  /** Places for what is not the platform's own. */
  readonly capacity: number;
  readonly published: number;
  readonly accepted: number;
  readonly consumed: number;
  readonly depth: number;
  readonly high_water: number;
  readonly dropped: Readonly<Partial<Record<PublishRefusal, number>>>;
  readonly inbox_dropped: number;
  readonly sessions: number;
  /** Sessions with a worker that runs. */
  readonly running: number;
  /** Observations in all inboxes. */
  readonly queued: number;
}

/** What came of a trigger: how many events were taken, or why the adapter did not look. */
export type TriggerResult =
  | { readonly ok: true; readonly taken: number; readonly refused: number }
  | { readonly ok: false; readonly reason: 'unknown' | 'not_active' | 'too_soon' | 'cooling_down' | 'failed' };

/** A way out and what has become of what it was given. */
export interface EgressStatus {
  readonly adapter: string;
  readonly depth: number;
  readonly sent: number;
  readonly failed: number;
  readonly timed_out: number;
  /** Refused by a full queue. */
  readonly dropped: number;
  /** Not sent because the adapter is cooling down. */
  readonly suppressed: number;
}

/** One path in for every event: a bus, a router, and one worker per session that takes one observation at a time. */
export interface ConversationService {
  /** For producers that nobody waits behind. Never throws and never blocks. */
  publish(observation: ObservationInput, options?: PublishOptions): PublishResult;
  /** As {@link publish}, but waits for room; 1,000 ms when `timeoutMs` is absent. */
  publishOrWait(
    observation: ObservationInput,
    options?: PublishOptions & { readonly signal?: AbortSignal; readonly timeoutMs?: number },
  ): Promise<PublishResult>;
  /** Checks and routes as {@link publish} would, and publishes nothing. */
  preview(observation: ObservationInput): PublishResult;
  /** What someone typed: a message of an adapter. Blank text is null and publishes nothing. */
  ingestText(
    text: string,
    options?: { readonly actor_id?: string; readonly session_key?: string },
  ): PublishResult | null;
  /** Has an active input adapter look now, no sooner than its `minIntervalMs` after the last time. Never rejects. */
  trigger(adapter: string, request: ObserveRequest, options?: CallOptions): Promise<TriggerResult>;
  /** For callers that wait until the observation has been handled. Never rejects. */
  submit(observation: ObservationInput, options: SubmitOptions): Promise<Settled>;
  /** True while an observation of the session is being handled in this process, or stands in its queue. */
  busy(sessionKey: string): boolean;
  session(sessionKey: string): SessionState | undefined;
  /** Newest activity first. */
  sessions(): readonly SessionSummary[];
  stats(): BusStats;
  /** Puts one SYSTEM message of the source `core:fanout` into the inbox of every live session but `system`. */
  fanOut(text: string): Promise<number>;
  /** Refuses what an adapter publishes until then (monotonic milliseconds). */
  coolDown(cooldown: AdapterCooldown): void;
  endCooldown(adapter: string): boolean;
  cooldowns(): readonly AdapterCooldown[];
  /** Replies of the session leave through this adapter too. Binding twice is one binding. */
  bindSession(sessionKey: string, adapter: string): void;
  unbindSession(sessionKey: string, adapter: string): void;
  /** Of every way out that is there or was used, also before its first send. */
  egress(): readonly EgressStatus[];
}
