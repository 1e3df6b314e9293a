import type { Idempotency, NewMessage, SessionRef, TurnUsage } from 'mortise/contracts/sessions';
import { MortiseError, type PromptLayer, type PromptRequest } from 'mortise/sdk';

/**
 * The `request` of `conversation.submit` that turns a message into an agent turn. An observation without one becomes a
 * turn of its own session and user.
 */
export interface TurnRequest {
  readonly session: SessionRef;
  readonly input: readonly NewMessage[];
  readonly idempotency?: Idempotency | undefined;
  /** Absent: the chat's own, else `default`. */
  readonly promptMode?: string | undefined;
  /** Merged into the chat's meta when the turn opens. */
  readonly chatMeta?: Readonly<Record<string, unknown>> | undefined;
  /** The members of `biz_params` that describe runtime tools. */
  readonly runtimeTools?: Readonly<Record<string, unknown>> | undefined;
  /** Step limit of this turn; only values below the configured one have an effect. */
  readonly maxSteps?: number | undefined;
  /** Adds the model's request to the last event. */
  readonly debug?: boolean | undefined;
  /** The prompt as it was built for the checks; the turn builds it again when its request or its chat has changed. */
  readonly prompt?: PreparedPrompt | undefined;
  /** The tool to call instead of asking a model. */
  readonly tool?: DirectToolCall | undefined;
  /** The model of this turn; the chat's own, else the configured one, when absent. */
  readonly model?: { readonly providerId: string; readonly model: string } | undefined;
  /** The only tools that the model is offered and may call; all when absent. An unknown or disabled one refuses the turn. */
  readonly tools?: readonly string[] | undefined;
  /** Sends the reply through the session's channel, within the turn. */
  readonly dispatch?:
    | {
        readonly config?: Readonly<Record<string, unknown>>;
        /** The same for every retry of one send; the turn's id when absent. */
        readonly deliveryId?: string;
      }
    | undefined;
  /** Epoch milliseconds until which the turn waits for its session, across all queues; 0 = it does not wait. */
  readonly waitUntil: number;
}

export interface PreparedPrompt {
  readonly request: PromptRequest;
  /** `updatedAt` of the chat; undefined when the session had none. */
  readonly chatUpdatedAt: number | undefined;
  readonly layers: readonly PromptLayer[];
}

/** A tool call that the caller asked for directly. */
export interface DirectToolCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** The events of a turn, in order. Deltas are those of the provider; each entry point renders them its own way. */
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

/** The model's call that a tool event belongs to, for entry points that show call ids. Not part of stored events. */
export interface TurnCall {
  readonly id: string;
  /** `{}` when the model did not write a JSON object. */
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** What a turn sends to a reply port: first `opened`, then its events. */
export type TurnPortEvent =
  | { readonly type: 'opened'; readonly turnId: string; readonly chatId: string }
  | Exclude<TurnEvent, { type: 'tool_call' | 'tool_result' }>
  | (Extract<TurnEvent, { type: 'tool_call' | 'tool_result' }> & { readonly call: TurnCall });

/** The `value` that `conversation.submit` settles with when the observation became a turn. */
export type TurnResult =
  | {
      readonly kind: 'completed';
      readonly turnId: string;
      readonly reply: string;
      readonly usage?: TurnUsage | undefined;
      /** The turn is complete and stored, but its channel did not accept the reply. */
      readonly dispatchError?: TurnFailure | undefined;
    }
  | {
      readonly kind: 'replayed';
      readonly turnId: string;
      readonly reply: string;
      /** As stored: adjacent deltas are merged. */
      readonly events: readonly TurnEvent[];
    }
  | {
      readonly kind: 'failed';
      readonly turnId?: string | undefined;
      readonly error: TurnFailure;
      /** Tokens used before the failure. */
      readonly usage?: TurnUsage | undefined;
    };

export interface TurnFailure {
  readonly code: string;
  readonly message: string;
  /** HTTP status. */
  readonly status: number;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  /** What to do next, as a sentence. */
  readonly hint?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

/** The failure of a turn as an error for the caller. */
export function errorOf({ code, message, status, details, hint, retryAfterSeconds }: TurnFailure): MortiseError {
  return new MortiseError(code, message, {
    status,
    ...(details === undefined ? {} : { details }),
    ...(hint === undefined ? {} : { hint }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}
