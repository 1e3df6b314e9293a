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

const selectText = `select project_key, team_write_enabled, policy_json, version, updated_by, updated_at
  from {governance.settings} where project_key = ?`;

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

  const read = async (projectKey: string, trx?: Transaction): Promise<GovernanceSettings> => {
    const lock = trx !== undefined && database.dialect === 'postgres' ? ' for update' : '';
    const found = await database.statement<SettingsColumns>(selectText + lock, [projectKey], { trx });
    if (found.rows[0] !== undefined) return settingsOf(database, found.rows[0]);
    await database.statement(
      'insert into {governance.settings} (project_key) values (?) on conflict (project_key) do nothing',
      [projectKey],
      { trx },
    );
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
    await database.statement(
      `update {governance.settings}
       set team_write_enabled = ?, policy_json = ?, version = version + 1, updated_by = ?, updated_at = ?
       where project_key = ?`,
      [teamWriteEnabled, database.codec.json(policy), updatedBy, database.codec.time(now()), projectKey],
      { trx },
    );
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
