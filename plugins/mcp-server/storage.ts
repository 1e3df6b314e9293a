import { randomBytes } from 'node:crypto';
import type { Database, Logger, Migration } from 'mortise/sdk';
import { RpcFailure } from './wire/failure.js';

/** The endpoint's tables. While they are missing, the endpoint serves everything that needs no row. */
export interface Storage {
  /** @throws RpcFailure `LOGBOOK_DB_CHECK_FAILED` while the tables do not exist. */
  database(): Promise<Database>;
  /** Runs database work. @throws RpcFailure `LOGBOOK_DB_*` when the database is unavailable; other errors as they are. */
  withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T>;
  /** An RpcFailure for a database failure; any other error is returned unchanged. */
  explain(error: unknown): unknown;
}

/** Milliseconds between two attempts to create the tables. */
const retryMs = 15_000;

export function createStorage(
  database: Database,
  migrations: readonly Migration[],
  log: Logger,
  monotonic: () => number,
): Storage {
  let ready: Promise<boolean> | undefined;
  let triedAt = Number.NEGATIVE_INFINITY;
  const migrate = async (): Promise<boolean> => {
    try {
      await database.migrate(migrations);
      return true;
    } catch (error) {
      log.error(
        { err: error },
        'The tables of the MCP endpoint could not be created; sessions and tasks are not stored.',
      );
      ready = undefined;
      return false;
    }
  };
  const storage: Storage = {
    async database() {
      if (ready === undefined && monotonic() - triedAt >= retryMs) {
        triedAt = monotonic();
        ready = migrate();
      }
      if (ready !== undefined && (await ready)) return database;
      throw new RpcFailure('LOGBOOK_DB_CHECK_FAILED', 'The tables of the MCP endpoint are not available.', {
        details: { service: 'database' },
      });
    },
    async withDatabase(work) {
      try {
        return await work(await storage.database());
      } catch (error) {
        throw storage.explain(error);
      }
    },
    explain(error) {
      const kind = error instanceof Error && !(error instanceof RpcFailure) ? database.codec.errorKind(error) : 'other';
      if (kind === 'other' || kind === 'unique' || kind === 'foreign-key') return error;
      return new RpcFailure('LOGBOOK_DB_UNAVAILABLE', 'The database did not answer.', {
        details: { service: 'database' },
      });
    },
  };
  return storage;
}

/** The key that signs interrupted requests: created by the first process that needs it, shared by all replicas. */
export async function readSigningKey(database: Database, now: number): Promise<Buffer> {
  const created = randomBytes(32).toString('base64url');
  const keys = database.query()(database.table('logbook.mcp_keys'));
  const id = 'request-state';
  await keys.clone().insert({ id, secret: created, created_at: now }).onConflict('id').ignore();
  const stored: { readonly secret: string } | undefined = await keys.where({ id }).first('secret');
  return Buffer.from(stored?.secret ?? created, 'base64url');
}
