import type { QueueWait, ReplyPort } from 'mortise/contracts/conversation';
import type { GateDecision } from 'mortise/contracts/gate';
import type { NewMessage, SessionRef } from 'mortise/contracts/sessions';
import type { CallContext, Observation, PromptLayer } from 'mortise/sdk';
import type { TurnFailure, TurnRequest, TurnResult } from './turn.js';

/** A request for a turn as an entry point received it: HTTP, the socket, a channel, a schedule. */
export interface TurnInput {
  readonly session: SessionRef;
  readonly input: readonly NewMessage[];
  /** `biz_params`, as sent. */
  readonly business: Readonly<Record<string, unknown>>;
  /** Unknown members of the request's body: one with the name of a tool is a call of that tool. */
  readonly shortcuts?: Readonly<Record<string, unknown>> | undefined;
  /** The model of this turn; the chat's own, else the configured one, when absent. */
  readonly model?: TurnRequest['model'];
  /** The only tools that the model is offered and may call; all when absent. */
  readonly tools?: TurnRequest['tools'];
}

/** A request that passed all checks and may be submitted. */
export interface AdmittedTurn {
  readonly request: Omit<TurnRequest, 'idempotency' | 'waitUntil'>;
  /** Payload of the observation. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** `biz_params.request_id`: an alternative to the entry point's own idempotency key. */
  readonly requestId: string | undefined;
}

export interface SubmitTurnOptions {
  /** `source_name` of the observation: `channel:<name>`, `cron:<job>`, `subagent:<id>`. */
  readonly source: string;
  /** `cron` and `internal` are internal sources, all others external ones. */
  readonly ingress: Observation['ingress'];
  /** How long the turn may wait for its session; the limits of `/agent/process` when absent. */
  readonly wait?: QueueWait | undefined;
  readonly idempotency?: TurnRequest['idempotency'];
  /** Identifies the event of a platform, so that the entry point can drop duplicates; recorded in the observation's evidence. */
  readonly eventId?: string | undefined;
  /** The caller has already looked for a stored answer of this key, so the lookup is skipped. */
  readonly replayChecked?: boolean | undefined;
  /** Receives the events of the turn while it runs, as {@link TurnPortEvent}. */
  readonly port?: ReplyPort | undefined;
  /** Called once with the gate's decision, before any event. */
  readonly decided?: ((decision: GateDecision) => void) | undefined;
}

/**
 * The outcome of a submitted turn. `sunk`: the gate put the message aside, which is neither an error nor an answer; its
 * `error` (202 `gate_sunk`) is for callers that can only report one or the other. Details of `gate_dropped` and
 * `gate_sunk`: `{action, reason, reasons, scene, obs_id, trace_id}`.
 */
export type TurnAnswer =
  | { readonly kind: 'turn'; readonly result: TurnResult }
  | { readonly kind: 'failed'; readonly error: TurnFailure }
  | { readonly kind: 'sunk'; readonly error: TurnFailure };

/** The service `turns`: submits agent turns for every entry point. */
export interface TurnService {
  /** Whether the input is a command such as `/new`, which starts no turn, bypasses the gate and does not wait. */
  isCommand(input: readonly NewMessage[]): boolean;
  /** Runs a command. @returns the reply. */
  runCommand(session: SessionRef): Promise<string>;
  /**
   * Makes all checks that need no claim of the session, so that a request that must fail writes nothing.
   * @throws MortiseError with the codes of `/agent/process`.
   */
  admit(input: TurnInput, ctx: CallContext): Promise<AdmittedTurn>;
  /**
   * Submits the request to the conversation and waits for its outcome. A stored answer of the same idempotency key is
   * replayed. Never rejects: an unexpected error is logged and answered with `internal_error`.
   */
  submit(admitted: AdmittedTurn, options: SubmitTurnOptions, ctx: CallContext): Promise<TurnAnswer>;
  /**
   * The system prompt that a turn with these parameters would have.
   * @throws MortiseError `invalid_request`, or the mode's `*_prompt_unavailable`
   */
  systemLayers(query: LayerQuery, ctx: CallContext): Promise<SystemLayers>;
}

/** Parameters of a system prompt, as a caller wrote them. */
export interface LayerQuery {
  readonly promptMode?: string | undefined;
  /** `review`, `compact` or `memory`; in the codex mode only. */
  readonly taskCommand?: string | undefined;
  readonly collaborationMode?: string | undefined;
  readonly collaborationEvent?: string | undefined;
  /** Uses the meta of this session's newest chat. */
  readonly sessionId?: string | undefined;
}

export interface SystemLayers {
  readonly promptMode: 'default' | 'codex' | 'claude';
  /** `Default` outside of the codex mode. */
  readonly collaborationMode: string;
  readonly layers: readonly PromptLayer[];
}
