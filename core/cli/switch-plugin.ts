import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import type { AuditEntry } from '../sdk/audit-entry.js';
import { isCodedError } from '../sdk/errors.js';
import type { PluginRow } from '../sdk/host/plugin-control.js';
import type { CommandEnvironment } from './environment.js';

type Outcome = Pick<AuditEntry, 'action' | 'reason' | 'status'>;

/**
 * Enables or disables, in the running server or in the desired state that the next one follows. Without a server the
 * change, or its refusal, is written to the audit trail here; one that cannot be written undoes nothing.
 */
export async function switchPlugin(
  environment: CommandEnvironment,
  key: string,
  enabled: boolean,
  cascade = false,
): Promise<PluginRow> {
  const action = enabled ? 'enable' : 'disable';
  /** What must run for the trail to be written; a change may end or begin it. */
  let keepers: readonly string[] = [];
  const tell = async (outcome: Outcome): Promise<void> => {
    if (keepers.length > 0) await writeOffline(environment, keepers, { ...entryOf(action, key), ...outcome });
  };
  try {
    const row = await environment.either<PluginRow>(
      (server) => server.request('POST', `/admin/plugins/${encodeURIComponent(key)}/${action}`, { cascade }),
      async (engine) => {
        keepers = engine.keepersOf('audit');
        const changed = await engine.want(key, enabled, cascade);
        if (keepers.length === 0) keepers = engine.keepersOf('audit');
        return changed;
      },
    );
    await tell({ action: 'allow', reason: 'admin:done', status: 'success' });
    return row;
  } catch (error) {
    const reason = `admin:${isCodedError(error) ? error.code : 'internal_error'}`;
    await tell({ action: 'reject', reason, status: 'failed' });
    throw error;
  }
}

function entryOf(action: string, key: string) {
  const plugin = key.slice(0, 64);
  return {
    operation: `admin:${action}`,
    principal: 'cli',
    targetSpace: `plugin:${plugin}`,
    correlationId: randomUUID(),
    evidence: { plugin, offline: true, user: userInfo().username },
  };
}

async function writeOffline(
  { projectDir, signal, json }: CommandEnvironment,
  keepers: readonly string[],
  entry: AuditEntry,
): Promise<void> {
  const { auditOffline } = await import('../app/run-offline.js');
  try {
    await auditOffline(keepers, entry, { projectDir, signal, quiet: true });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    // Scripts read one object on stderr, and that is the refusal.
    if (!json) process.stderr.write(`This could not be written to the audit trail: ${why}\n`);
  }
}
