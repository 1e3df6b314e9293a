import type { ArtifactStore, AuditService, Database, LogbookService, Logger, Points } from 'mortise/sdk';
import type { Config } from './config.generated.js';

/** What an upload works with. */
export interface EvidenceParts {
  readonly config: Config;
  readonly projectKey: string;
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly audit: AuditService;
  readonly artifacts: ArtifactStore;
  readonly points: Points;
  readonly log: Logger;
}
