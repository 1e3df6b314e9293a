import type { ArtifactStore } from './artifacts.js';
import type { AuditService } from './audit.js';
import type { ConversationService } from './conversation.js';
import type { GateControl, GateService } from './gate.js';
import type { LogbookService } from './logbook.js';
import type { MemoryService } from './memory.js';
import type { SessionsService } from './sessions.js';
import type { TextAnalysis } from './text-analysis.js';
import type { TurnDoor } from './turn-door.js';

export * from './artifacts.js';
export * from './audit.js';
export * from './conversation.js';
export * from './gate.js';
export * from './logbook.js';
export * from './logbook-items.js';
export * from './memory.js';
export * from './outbox.js';
export * from './reconcile.js';
export * from './sessions.js';
export * from './text-analysis.js';
export * from './turn-door.js';

/** Services that plugins provide to plugins. The published ones stand here; third parties widen it by declaration merging. */
export interface Services {
  artifacts: ArtifactStore;
  audit: AuditService;
  conversation: ConversationService;
  gate: GateService;
  'gate-control': GateControl;
  logbook: LogbookService;
  memory: MemoryService;
  sessions: SessionsService;
  'text-analysis': TextAnalysis;
  'turn-door': TurnDoor;
}
