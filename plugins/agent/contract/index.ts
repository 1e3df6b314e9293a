import type { SessionRef } from 'mortise/contracts/sessions';
import type { Principal } from 'mortise/sdk';
import type { TurnService } from './turns.js';

export * from './turn.js';
export * from './turn-events.js';
export * from './turn-frames.js';
export * from './turn-pipe.js';
export * from './turns.js';

/** A turn asked the user a question, or no longer waits for the answer. */
export interface InputRequestChange {
  readonly sessionKey: string;
  readonly turnId: string;
  readonly requestId: string;
  readonly state: 'pending' | 'answered' | 'expired';
  /** As the model asked them. */
  readonly questions: readonly Readonly<Record<string, unknown>>[];
}

/** A turn of the codex mode that began with a task command was answered and stored. */
export interface CompletedTask {
  /** The command without its slash. */
  readonly task: string;
  readonly turnId: string;
  readonly chatId: string;
  readonly session: SessionRef;
  /** The model that answered. */
  readonly model: { readonly providerId: string; readonly model: string } | undefined;
  readonly principal: Principal;
  readonly correlationId: string;
}

/** The result of a tool that takes several items: the only one unchanged, or all of them with their texts joined. */
export function batchResult(results: readonly { readonly text: string }[], separator = '\n\n'): object {
  const [only] = results;
  if (only && results.length === 1) return only;
  return { ok: true, count: results.length, results, text: results.map(({ text }) => text).join(separator) };
}

declare module 'mortise/sdk' {
  interface Services {
    turns: TurnService;
  }
  interface HostEvents {
    /** A question of a turn was asked, was answered or expired. */
    'input-request': InputRequestChange;
    'task-completed': CompletedTask;
  }
}
