import type { Kernel } from '../kernel/kernel.js';
import type { AuditEntry } from '../sdk/audit-entry.js';
import type { Logger } from '../sdk/context.js';
import type { FileEdit, SeenFiles } from './seen-files.js';

/**
 * Writes a row to the audit trail for each file that somebody edited since the last server saw it: nobody asked the
 * platform for it. What cannot be written now is written at the next start.
 *
 * @param edits found before the plugins started, for some of them may write to their files
 */
export async function auditFileEdits(
  { edits, take }: Awaited<ReturnType<SeenFiles['look']>>,
  kernel: Pick<Kernel, 'services'>,
  log: Logger,
): Promise<void> {
  try {
    if (edits.length > 0) {
      const trail = kernel.services.get('audit')?.value as Trail | undefined;
      if (!trail) return;
      await trail.writeMany(edits.map(rowOf));
      log.info({ edits }, 'files were edited since a server last ran');
    }
    await take();
  } catch (error) {
    log.warn({ error: error instanceof Error ? error.message : String(error) }, 'edits of files were not audited yet');
  }
}

function rowOf({ file, plugins }: FileEdit): AuditEntry {
  return {
    operation: 'admin:edit_file',
    principal: 'file',
    targetSpace: `file:${file}`,
    action: 'allow',
    reason: 'admin:file_edited',
    status: 'success',
    evidence: { file, plugins },
  };
}

interface Trail {
  write(entry: AuditEntry): Promise<unknown>;
  writeMany(entries: readonly AuditEntry[]): Promise<unknown>;
}
