import type { ArtifactStore } from 'mortise/contracts/evidence-store';
import type { AuditService, LogbookService } from 'mortise/contracts/logbook';
import type { Database } from 'mortise/sdk';

/** What the tools of this plugin work with. */
export interface ToolParts {
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly audit: AuditService;
  readonly artifacts: ArtifactStore;
}

export type Args = Readonly<Record<string, unknown>>;
export type Result = Readonly<Record<string, unknown>>;
