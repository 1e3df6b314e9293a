import type { QueueWait } from 'mortise/contracts/conversation';
import type { NewMessage, SessionRef } from 'mortise/contracts/sessions';
import type { CallContext, ObservationActor } from 'mortise/sdk';
import type { TurnFailure, TurnRequest, TurnResult } from './turn.js';

/** What someone asks of a session, whatever the door. */
export interface TurnAsked {
  readonly session: SessionRef;
  readonly input: readonly NewMessage[];
  /** `biz_params`, as sent. */
  readonly business: Readonly<Record<string, unknown>>;
  /** Members beside those that a request knows: one with the name of a tool is a call of it. */
  readonly shortcuts?: Readonly<Record<string, unknown>> | undefined;
}

/** A request that may be submitted. */
export interface AdmittedTurn {
  /** Without an idempotency key, and waiting for nobody: both are the door's. */
  readonly request: TurnRequest;
  /** Of the observation. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** `biz_params.request_id`: another way to give an idempotency key. */
  readonly requestId: string | undefined;
}

/** Who speaks through a door whose caller waits for the whole answer. */
export interface TurnFace {
  /** `channel:<name>`, `cron:<job>`, `subagent:<id>`. */
  readonly source: string;
  readonly ingress: 'channel' | 'cron' | 'internal';
  readonly actor: Partial<ObservationActor>;
  /** How long it stands behind other turns of the session; as at `/agent/process` when absent. */
  readonly wait?: QueueWait;
  readonly idempotency?: TurnRequest['idempotency'];
}

/**
 * What came of a submitted turn. `sunk` was put aside by the gate, which is neither an error nor an answer: `error` words
 * it (202 `gate_sunk`) for doors that can say only one or the other. The details of `gate_dropped` and `gate_sunk` are
 * `{action, reason, reasons, scene, obs_id, trace_id}`.
 */
export type TurnAnswer =
  | { readonly kind: 'turn'; readonly result: TurnResult }
  | { readonly kind: 'failed'; readonly error: TurnFailure }
  | { readonly kind: 'sunk'; readonly error: TurnFailure };

/** What every door to a turn does before it submits, so that all of them understand the same words. */
export interface TurnDoor {
  /** A text that is acted on at once, such as `/new`: no turn, no gate, no waiting for the session. */
  isCommand(input: readonly NewMessage[]): boolean;
  /** Acts on a command. @returns what to say. */
  runCommand(session: SessionRef): Promise<string>;
  /**
   * Everything that can be refused before anything is written.
   * @throws MortiseError with the code that `/agent/process` answers.
   */
  admit(asked: TurnAsked, ctx: CallContext): Promise<AdmittedTurn>;
  /** Hands in what was admitted and waits for what comes of it. A stored answer of the same key is replayed. Never rejects. */
  submit(admitted: AdmittedTurn, face: TurnFace, ctx: CallContext): Promise<TurnAnswer>;
}
