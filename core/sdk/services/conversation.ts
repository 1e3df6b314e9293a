import type { Observation, ObservationError, ObservationInput, ObservationType } from '../observation.js';
import type { ReplyPort } from '../points/conversation.js';
import type { CallOptions } from '../points.js';

export type GateAction = 'drop' | 'sink' | 'deliver';

/** What the gate decided of one observation, and why. Frozen. */
export interface GateDecision {
  readonly action: GateAction;
  /** The deciding reason, e.g. `gate_off`, `message_default`, `override=drop_actor`. */
  readonly reason: string;
  readonly reasons: readonly string[];
  readonly scene: string;
  readonly session_key: string;
  readonly trace_id: string;
  /** Model tier, response policy, tags and whatever else the gate says to the handler. */
  readonly [member: string]: unknown;
}

export interface GateOutcome {
  readonly decision: GateDecision;
  readonly emit: readonly Observation[];
  readonly ingest: readonly { readonly pool: 'drop' | 'sink' | 'tool'; readonly observation: Observation }[];
}

export interface GateContext {
  readonly sessionKey: string;
  /** Monotonic milliseconds. */
  readonly now: number;
  readonly session: Readonly<SessionState>;
  readonly overload: boolean;
}

/** The service `gate`, from a plugin of that name. While there is none, everything is delivered as `gate_off`. */
export interface GateService {
  /** Synchronous, and never throws for a bad observation. */
  handle(observation: Observation, context: GateContext): GateOutcome;
  /** Puts sunk and dropped observations into their pools. */
  ingest(items: GateOutcome['ingest']): void;
}

/** What is known of one live session. */
export interface SessionState {
  readonly session_key: string;
  /** Epoch milliseconds. */
  readonly created_at: number;
  /** Null before the first observation. */
  readonly last_active_at: number | null;
  readonly processed_total: number;
  readonly error_total: number;
  /** The newest 20, oldest first. */
  readonly recent_obs: readonly RecentObservation[];
}

export interface RecentObservation {
  readonly obs_id: string;
  readonly obs_type: ObservationType;
  readonly at: number;
  readonly action: GateAction | null;
  readonly reason: string | null;
  /** Step and class of a fault while it was handled. */
  readonly error?: string;
}

export type PublishRefusal = 'closed' | 'queue_full' | 'invalid' | 'adapter_cooldown';

export type PublishResult =
  | { readonly ok: true; readonly observation: Observation }
  | {
      readonly ok: false;
      readonly dropped: true;
      readonly reason: PublishRefusal;
      readonly errors?: readonly ObservationError[];
    };

/** How long a submitter lets its observation stand behind others of its session. */
export interface QueueWait {
  /** How many of them may stand in the session's queue; one more is `queue_full`. */
  readonly limit: number;
  /** Milliseconds until the handler must have begun; then `queue_timeout`. 0: no waiting, `busy` at once. */
  readonly timeoutMs: number;
}

/** A call context can be handed on as it is: its signal says that the caller has left. */
export interface SubmitOptions extends CallOptions {
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
  readonly published: number;
  readonly accepted: number;
  readonly consumed: number;
  readonly depth: number;
  readonly high_water: number;
  readonly dropped: Readonly<Partial<Record<PublishRefusal, number>>>;
  readonly inbox_dropped: number;
  readonly sessions: number;
  readonly running: number;
}

/** One path in for every event: a bus, a router, and one worker per session that takes one observation at a time. */
export interface ConversationService {
  /** For producers that nobody waits behind. Never throws and never blocks. */
  publish(observation: ObservationInput): PublishResult;
  /** As {@link publish}, but waits for room; 1,000 ms when `timeoutMs` is absent. */
  publishOrWait(
    observation: ObservationInput,
    options?: { readonly signal?: AbortSignal; readonly timeoutMs?: number },
  ): Promise<PublishResult>;
  /** For callers that wait until the observation has been handled. Never rejects. */
  submit(observation: ObservationInput, options: SubmitOptions): Promise<Settled>;
  /** True while an observation of the session is being handled in this process, or stands in its queue. */
  busy(sessionKey: string): boolean;
  session(sessionKey: string): SessionState | undefined;
  stats(): BusStats;
}
