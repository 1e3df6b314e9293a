import type { NewMessage, SessionRef, TurnUsage } from 'mortise/contracts/sessions';

/**
 * What a face gives to `conversation.submit` as `request`, so that its message becomes an agent turn. An observation
 * without one becomes a turn of its own session and user.
 */
export interface TurnRequest {
  readonly session: SessionRef;
  readonly input: readonly NewMessage[];
  readonly idempotency?: { readonly key: string; readonly bodySha256: string } | undefined;
  /** Absent: the chat's own, else `default`. */
  readonly promptMode?: string | undefined;
  /** Merged into the chat's meta when the turn opens. */
  readonly chatMeta?: Readonly<Record<string, unknown>> | undefined;
  /** Lowers the step limit for this turn. */
  readonly maxSteps?: number | undefined;
  /** Adds what the model was sent to the last event. */
  readonly debug?: boolean | undefined;
  /** The one thing to do instead of asking a model. */
  readonly tool?: DirectToolCall | undefined;
  /** Sends the reply through the session's channel, within the turn. */
  readonly dispatch?: { readonly config?: Readonly<Record<string, unknown>> } | undefined;
  /** Epoch milliseconds until which the session is waited for, all queues together. */
  readonly waitUntil: number;
}

/** A tool that a caller names by itself. */
export interface DirectToolCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** What happens in a turn, in order. Deltas come as the provider cut them; each face cuts and renders its own way. */
export type TurnEvent =
  | { readonly type: 'step_started'; readonly step: number }
  | {
      readonly type: 'tool_call';
      readonly step: number;
      readonly tool_call: { readonly name: string; readonly input?: unknown };
    }
  | {
      readonly type: 'tool_result';
      readonly step: number;
      readonly tool_result: { readonly name: string; readonly ok: boolean; readonly summary?: string };
    }
  | { readonly type: 'assistant_delta'; readonly step: number; readonly delta: string }
  | {
      readonly type: 'completed';
      readonly step: number;
      readonly reply: string;
      readonly meta: Readonly<Record<string, unknown>>;
    };

/** Which call of the model a tool event is of: for faces that show calls by their id. Not a part of stored events. */
export interface TurnCall {
  readonly id: string;
  /** `{}` when the model wrote what is no JSON object. */
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** What a reply port receives from a turn: first that it has opened, then its events. */
export type TurnPortEvent =
  | { readonly type: 'opened'; readonly turnId: string; readonly chatId: string }
  | Exclude<TurnEvent, { type: 'tool_call' | 'tool_result' }>
  | (Extract<TurnEvent, { type: 'tool_call' | 'tool_result' }> & { readonly call: TurnCall });

/** What `submit` settles with as `value` when the observation became a turn. */
export type TurnResult =
  | {
      readonly kind: 'completed';
      readonly turnId: string;
      readonly reply: string;
      readonly usage?: TurnUsage | undefined;
      /** The turn is complete and stored, but its channel did not take the reply. */
      readonly dispatchError?: TurnFailure | undefined;
    }
  | {
      readonly kind: 'replayed';
      readonly turnId: string;
      readonly reply: string;
      /** As stored: neighbouring deltas merged. */
      readonly events: readonly TurnEvent[];
    }
  | {
      readonly kind: 'failed';
      readonly turnId?: string | undefined;
      readonly error: TurnFailure;
      /** What was used until then. */
      readonly usage?: TurnUsage | undefined;
    };

export interface TurnFailure {
  readonly code: string;
  readonly message: string;
  /** HTTP status. */
  readonly status: number;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfterSeconds?: number | undefined;
}
