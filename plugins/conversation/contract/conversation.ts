import type { GateDecision, SessionState } from 'mortise/contracts/gate';
import type { CallOptions, Observation, ObservationError, ObservationInput, Principal } from 'mortise/sdk';

/** One row of the list of live sessions. */
export interface SessionSummary {
  readonly session_key: string;
  /** Epoch milliseconds. */
  readonly created_at: number;
  readonly last_active_at: number | null;
  readonly processed_total: number;
  readonly error_total: number;
  /** Observations in its inbox. */
  readonly queued: number;
  readonly running: boolean;
}

/** Names the principal and the publishing adapter, so that a cooldown can stop that adapter alone. */
export interface PublishOptions {
  /**
   * The principal that the observation is published for: its handlers and the tools they call run for it. An observation
   * without one is `invalid`; what the platform itself reports is published for `platformPrincipal`.
   */
  readonly principal: Principal;
  /** The observation's `source_name` when absent. */
  readonly adapter?: string | undefined;
  /** Called once, after the gate's decision. */
  readonly decided?: ((decision: GateDecision) => void) | undefined;
}

/** Whose text it is. */
export interface TextOptions extends Pick<PublishOptions, 'principal'> {
  /** Default `user`. */
  readonly actor_id?: string;
  /** Default `dm:local`. */
  readonly session_key?: string;
}

/** An adapter whose observations are refused until a point in time. */
export interface AdapterCooldown {
  readonly adapter: string;
  /** Monotonic milliseconds. */
  readonly until: number;
  readonly reason: string;
}

/** How long a submitted observation may wait behind others of its session. */
export interface QueueWait {
  /** Turns that may wait in the session's queue; one more is `queue_full`. */
  readonly limit: number;
  /** Milliseconds until the handler must have started, else `queue_timeout`; 0: `busy` at once instead of waiting. */
  readonly timeoutMs: number;
}

/** Receives the events of a turn while a caller waits. It carries no state. */
export interface ReplyPort {
  send(event: unknown): void | Promise<void>;
}

/** A call context can be passed as it is: its signal aborts when the caller has left. */
export interface SubmitOptions extends Omit<CallOptions, 'principal'>, PublishOptions {
  /** Receives the events of the turn. */
  readonly port?: ReplyPort | undefined;
  readonly wait: QueueWait;
  /** Passed to the handler unchanged; never stored. */
  readonly request?: unknown;
}

/**
 * The result of a submitted observation:
 * - `handled`: its handler completed; `value` is the handler's return value.
 * - `refused`: the gate dropped or sank it.
 * - `error`: its handler failed unexpectedly.
 * - `cancelled`: the caller left, or the process is stopping.
 * - `busy`: the session is busy and the caller does not wait, or waiting would be a deadlock.
 * - `queue_full`, `queue_timeout`: a limit of the caller's {@link QueueWait}.
 * - `backpressure`: the bus had no room within one second.
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
  /** Absent when the input was invalid. */
  readonly observation?: Observation;
  readonly value?: unknown;
  readonly errors?: readonly ObservationError[];
}

export interface BusStats {
  /** Capacity for messages and world data; the platform's own observations have a reserve beyond it. */
  readonly capacity: number;
  readonly published: number;
  readonly accepted: number;
  readonly consumed: number;
  readonly depth: number;
  readonly high_water: number;
  readonly dropped: Readonly<Partial<Record<PublishRefusal, number>>>;
  readonly inbox_dropped: number;
  readonly sessions: number;
  /** Sessions whose worker is running. */
  readonly running: number;
  /** Observations in all inboxes. */
  readonly queued: number;
}

/** Why an active adapter is polled for events. */
export interface ObserveRequest {
  readonly reason: string;
  readonly context?: unknown;
}

/** The number of events taken after a trigger, or why the adapter was not called. */
export type TriggerResult =
  | { readonly ok: true; readonly taken: number; readonly refused: number }
  | { readonly ok: false; readonly reason: 'unknown' | 'not_active' | 'too_soon' | 'cooling_down' | 'failed' };

/** The counters of one egress adapter. */
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

/** The single entry point for observations: a bus, a router, and one serial worker per session. */
export interface ConversationService {
  /** For producers without a waiting caller. Never throws and never blocks. */
  publish(observation: ObservationInput, options: PublishOptions): PublishResult;
  /** As {@link publish}, but waits for room on the bus, 1,000 ms when `timeoutMs` is absent. */
  publishOrWait(
    observation: ObservationInput,
    options: PublishOptions & { readonly signal?: AbortSignal; readonly timeoutMs?: number },
  ): Promise<PublishResult>;
  /** Validates and routes like {@link publish}, and publishes nothing. */
  preview(observation: ObservationInput): PublishResult;
  /** Publishes typed text as a message with the ingress `adapter`. Returns null for blank text and publishes nothing. */
  ingestText(text: string, options: TextOptions): PublishResult | null;
  /** Calls `observe` of an input adapter, at most once per its `minIntervalMs`. Never rejects. */
  trigger(adapter: string, request: ObserveRequest, options?: CallOptions): Promise<TriggerResult>;
  /** For callers that wait until the observation is handled. Never rejects. */
  submit(observation: ObservationInput, options: SubmitOptions): Promise<Settled>;
  /** True while a turn of the session is running or queued in this process. */
  busy(sessionKey: string): boolean;
  session(sessionKey: string): SessionState | undefined;
  /** Newest activity first. */
  sessions(): readonly SessionSummary[];
  /** Whether a session is one of the user that the principal is bound to. */
  ownsSession(principal: Principal, sessionKey: string): boolean;
  /**
   * Whether a principal may know of a session: with the admin right of each, otherwise of those that it owns and of those
   * in memory that it has published to.
   */
  maySee(principal: Principal, sessionKey: string): boolean;
  stats(): BusStats;
  /** Puts one `system` observation of the source `core:fanout` into the inbox of every live session except `system`. */
  fanOut(text: string): Promise<number>;
  /** Refuses the adapter's observations and suppresses its sends until the cooldown ends. */
  coolDown(cooldown: AdapterCooldown): void;
  /** @returns whether there was a cooldown */
  endCooldown(adapter: string): boolean;
  cooldowns(): readonly AdapterCooldown[];
  /** Routes the session's replies through this adapter. Binding twice is one binding. */
  bindSession(sessionKey: string, adapter: string): void;
  unbindSession(sessionKey: string, adapter: string): void;
  /** Counters of every egress adapter that is active or was used. */
  egress(): readonly EgressStatus[];
}

/** Why an observation was not accepted. */
export type PublishRefusal = 'closed' | 'queue_full' | 'invalid' | 'adapter_cooldown';

export type PublishResult =
  | { readonly ok: true; readonly observation: Observation }
  | {
      readonly ok: false;
      readonly dropped: true;
      readonly reason: PublishRefusal;
      readonly errors?: readonly ObservationError[];
    };
