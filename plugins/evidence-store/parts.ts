import type { ArtifactStore } from 'mortise/contracts/evidence-store';
import type { AuditService, LogbookService } from 'mortise/contracts/logbook';
import type { Database, Logger, Points } from 'mortise/sdk';
import type { EvidenceConfig } from './config.js';

/** What an upload works with. */
export interface EvidenceParts {
  readonly config: EvidenceConfig;
  readonly projectKey: string;
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly audit: AuditService;
  readonly artifacts: ArtifactStore;
  readonly points: Points;
  readonly log: Logger;
}
