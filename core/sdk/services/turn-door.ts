import type { CallContext } from '../context.js';
import type { TurnRequest } from '../turn.js';
import type { NewMessage, SessionRef } from './sessions.js';

/** What someone asks of a session, whatever the door. */
export interface TurnAsked {
  readonly session: SessionRef;
  readonly input: readonly NewMessage[];
  /** `biz_params`, as sent. */
  readonly business: Readonly<Record<string, unknown>>;
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
}
