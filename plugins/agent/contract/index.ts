import type { TurnDoor } from './turn-door.js';

export * from './turn.js';
export * from './turn-door.js';

/** A turn asks people something and waits for the answer, or no longer does. */
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
    'turn-door': TurnDoor;
  }
  interface HostEvents {
    /** A question of a turn was asked, answered or has expired. */
    'input-request': InputRequestChange;
  }
}
