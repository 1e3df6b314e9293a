import type { Database, Logger, Migration } from 'mortise/sdk';
import { RpcFailure } from './wire/failure.js';

/** The endpoint's tables. They may be missing: the endpoint then serves everything that needs no row. */
export interface Storage {
  /** @throws RpcFailure `LOGBOOK_DB_CHECK_FAILED` while the tables are not there. */
  database(): Promise<Database>;
  /** A database failure in the endpoint's words; anything else is returned as it is. */
  explain(error: unknown): unknown;
}

/** Milliseconds between two attempts to make the tables. */
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
      log.error({ err: error }, 'The tables of the MCP endpoint could not be made; sessions and tasks are not kept.');
      ready = undefined;
      return false;
    }
  };
  const explain = (error: unknown): unknown => {
    const kind = error instanceof Error && !(error instanceof RpcFailure) ? database.codec.errorKind(error) : 'other';
    if (kind === 'other' || kind === 'unique' || kind === 'foreign-key') return error;
    return new RpcFailure('LOGBOOK_DB_UNAVAILABLE', 'The database did not answer.', {
      details: { service: 'database' },
    });
  };
  return {
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
    explain,
  };
}
