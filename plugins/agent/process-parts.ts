import type { ConversationService } from 'mortise/contracts/conversation';
import type { TurnParts } from './turn-parts.js';

/** What the doors to a turn need. */
export interface ProcessParts extends TurnParts {
  readonly conversation: ConversationService;
  readonly queueLimit: number;
  readonly queueWaitMs: number;
}
