import { randomBytes } from 'node:crypto';
import type { Database } from 'mortise/sdk';

/** The key that signs interrupted requests: made by the first process that needs it, then shared by all. */
export async function readSigningKey(database: Database, now: number): Promise<Buffer> {
  const mine = randomBytes(32).toString('base64url');
  await database.statement(
    `insert into {logbook.mcp_keys} (id, secret, created_at) values ('request-state', ?, ?) on conflict (id) do nothing`,
    [mine, now],
  );
  const { rows } = await database.statement<{ secret: string }>(
    `select secret from {logbook.mcp_keys} where id = 'request-state'`,
  );
  return Buffer.from(rows[0]?.secret ?? mine, 'base64url');
}
