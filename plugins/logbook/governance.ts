import type { GovernancePatch, GovernanceSettings, GovernanceStore } from 'mortise/contracts/logbook';
import type { Database, Transaction } from 'mortise/sdk';

interface SettingsColumns {
  readonly project_key: string;
  readonly team_write_enabled: unknown;
  readonly policy_json: string;
  readonly version: number;
  readonly updated_by: string | null;
  readonly updated_at: string;
}

/** Maximum age of cached settings, milliseconds. */
const CACHED_MS = 1_000;

function settingsOf(database: Database, row: SettingsColumns): GovernanceSettings {
  return {
    projectKey: row.project_key,
    teamWriteEnabled: database.codec.parseFlag(row.team_write_enabled),
    policy: database.codec.parseJson<Record<string, unknown> | null>(row.policy_json) ?? {},
    version: row.version,
    updatedBy: row.updated_by,
    updatedAt: database.codec.parseTime(row.updated_at) ?? '',
  };
}

/** Merges top-level policy keys; null removes one. */
function mergePolicy(
  policy: Readonly<Record<string, unknown>>,
  patch: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries({ ...policy, ...patch }).filter(([, value]) => value !== null));
}

/** `governance.settings`, one row per project. */
export function createGovernanceSettings(database: Database, now: () => number = Date.now): GovernanceStore {
  const cached = new Map<string, { readonly until: number; readonly settings: Promise<GovernanceSettings> }>();

  const table = (trx?: Transaction) => database.query({ trx })(database.table('governance.settings'));

  /** With `trx` it locks the row. */
  const read = async (projectKey: string, trx?: Transaction): Promise<GovernanceSettings> => {
    const found = table(trx).where({ project_key: projectKey });
    const row: SettingsColumns | undefined = await (trx === undefined ? found : found.forUpdate()).first();
    if (row !== undefined) return settingsOf(database, row);
    await table(trx).insert({ project_key: projectKey }).onConflict('project_key').ignore();
    return read(projectKey, trx);
  };

  const change = async (
    projectKey: string,
    patch: GovernancePatch,
    updatedBy: string | null,
    trx: Transaction,
  ): Promise<GovernanceSettings> => {
    const before = await read(projectKey, trx);
    if (patch.teamWriteEnabled === undefined && patch.policy === undefined) return before;
    const teamWriteEnabled = patch.teamWriteEnabled ?? before.teamWriteEnabled;
    const policy = mergePolicy(before.policy, patch.policy ?? {});
    await table(trx)
      .where({ project_key: projectKey })
      .increment('version')
      .update({
        team_write_enabled: teamWriteEnabled,
        policy_json: database.codec.json(policy),
        updated_by: updatedBy,
        updated_at: database.codec.time(now()),
      });
    // After the commit: a concurrent read must not cache the previous row.
    database.afterCommit(trx, () => cached.delete(projectKey));
    return read(projectKey, trx);
  };

  return {
    get(projectKey) {
      const known = cached.get(projectKey);
      if (known !== undefined && known.until > now()) return known.settings;
      const settings = read(projectKey);
      cached.set(projectKey, { until: now() + CACHED_MS, settings });
      settings.catch(() => cached.delete(projectKey));
      return settings;
    },
    update(projectKey, patch, { trx, updatedBy }) {
      if (trx !== undefined) return change(projectKey, patch, updatedBy, trx);
      return database.transaction((own) => change(projectKey, patch, updatedBy, own));
    },
  };
}
