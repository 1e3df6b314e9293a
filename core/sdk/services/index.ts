import type { AuditService } from './audit.js';
import type { ConversationService, GateService } from './conversation.js';
import type { SessionsService } from './sessions.js';

export * from './audit.js';
export * from './conversation.js';
export * from './sessions.js';

/** Services that plugins provide to plugins. The published ones stand here; third parties widen it by declaration merging. */
export interface Services {
  audit: AuditService;
  conversation: ConversationService;
  gate: GateService;
  sessions: SessionsService;
}
