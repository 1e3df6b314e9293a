import type { AuditService } from 'mortise/contracts/logbook';
import type { HostEvents, Logger, Watched } from 'mortise/sdk';

/** A row for each plugin that an edit of `plugins.json` turned on or off: nobody asked this server for it. */
export async function auditEdits(
  { changes }: HostEvents['plugins-edited'],
  audit: Watched<AuditService>,
  log: Logger,
): Promise<void> {
  try {
    await audit.current?.writeMany(
      changes.map(({ key, enabled }) => ({
        operation: `admin:${enabled ? 'enable' : 'disable'}`,
        principal: 'file',
        targetSpace: `plugin:${key}`,
        action: 'allow',
        reason: 'admin:file_edited',
        status: 'success',
        evidence: { plugin: key },
      })),
    );
  } catch (error) {
    log.warn({ error: error instanceof Error ? error.message : String(error) }, 'an edit could not be audited');
  }
}
