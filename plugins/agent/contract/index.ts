import type { TurnService } from './turns.js';

export * from './turn.js';
export * from './turn-events.js';
export * from './turn-failure.js';
export * from './turn-frames.js';
export * from './turn-pipe.js';
export * from './turns.js';

/** A turn asked people a question, or no longer waits for the answer. */
export interface InputRequestChange {
  readonly sessionKey: string;
  readonly turnId: string;
  readonly requestId: string;
  readonly state: 'pending' | 'answered' | 'expired';
  /** As the model asked them. */
  readonly questions: readonly Readonly<Record<string, unknown>>[];
}

declare module 'mortise/sdk' {
  interface Services {
    turns: TurnService;
  }
  interface HostEvents {
    /** A question of a turn was asked, was answered or expired. */
    'input-request': InputRequestChange;
  }
}
