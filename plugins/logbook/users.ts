import type { Users } from 'mortise/contracts/logbook';
import type { Database, TransactionOption } from 'mortise/sdk';

interface UserColumns {
  readonly user_id: string;
  readonly display_name: string | null;
  readonly is_active: unknown;
  readonly roles_json: string;
  readonly created_at: string;
  readonly updated_at: string;
}

/** How long a user who was active is taken to be active, milliseconds. */
const REMEMBERED_MS = 1_000;
const MOST_REMEMBERED = 10_000;

/** People and agents of `identity.users`. Memory writes wait for `isActive` and `add`: these are prepared statements. */
export function createUsers(database: Database, now: () => number = Date.now): Users {
  const activeUntil = new Map<string, number>();
  const table = (options?: TransactionOption) => database.query(options)(database.table('identity.users'));

  return {
    async isActive(userId, options) {
      if ((activeUntil.get(userId) ?? 0) > now()) return true;
      activeUntil.delete(userId);
      const { rows } = await database.statement<{ is_active: unknown }>(
        'select is_active from {identity.users} where user_id = ?',
        [userId],
        options,
      );
      const isActive = rows[0] !== undefined && database.codec.parseFlag(rows[0].is_active);
      if (isActive && options?.trx === undefined) {
        if (activeUntil.size >= MOST_REMEMBERED) activeUntil.clear();
        activeUntil.set(userId, now() + REMEMBERED_MS);
      }
      return isActive;
    },
    async add(userId, user, options) {
      const { changes } = await database.statement(
        'insert into {identity.users} (user_id, display_name) values (?, ?) on conflict (user_id) do nothing',
        [userId, user?.displayName ?? null],
        options,
      );
      return changes > 0;
    },
    async setActive(userId, active, options) {
      const changes = await table(options)
        .where({ user_id: userId })
        .update({ is_active: active, updated_at: database.codec.time(now()) });
      activeUntil.delete(userId);
      return changes > 0;
    },
    async list(options) {
      const rows: readonly UserColumns[] = await table(options).orderBy('user_id');
      return rows.map((row) => ({
        userId: row.user_id,
        displayName: row.display_name,
        active: database.codec.parseFlag(row.is_active),
        roles: database.codec.parseJson<Record<string, unknown>>(row.roles_json),
        createdAt: database.codec.parseTime(row.created_at) ?? '',
        updatedAt: database.codec.parseTime(row.updated_at) ?? '',
      }));
    },
  };
}
