import type { AuditService } from './audit.js';

export * from './audit.js';

/** Services that plugins provide to plugins. The published ones stand here; third parties widen it by declaration merging. */
export interface Services {
  audit: AuditService;
}
