import type { Engine } from './engine.js';
import { hostSchema, tableNames } from './names.js';
import type { StorageProbe } from './storage-watch.js';
import type { Session } from './transaction.js';

/** Names of the migrations that this process relies on, by plugin. */
export type Applied = Map<string, readonly string[]>;

interface AppliedRow {
  readonly plugin: string;
  readonly name: string;
}

/** SQLSTATE of a table and of a schema that do not exist. */
const goneCodes: ReadonlySet<unknown> = new Set(['42P01', '3F000']);

/** An embedded database is its file; a database on a server is the tables that are in it. */
export function storageProbe(engine: Engine, session: Session, applied: Applied): StorageProbe {
  const { file } = engine;
  const query = `select plugin, name from ${tableNames(hostSchema, engine.dialect, [hostSchema]).table(`${hostSchema}.migrations`)}`;
  const holds = (rows: readonly AppliedRow[]): boolean => {
    const present = new Set(rows.map(({ plugin, name }) => `${plugin} ${name}`));
    return [...applied].every(([plugin, names]) => names.every((name) => present.has(`${plugin} ${name}`)));
  };
  if (file !== undefined) {
    return {
      look: () => file.look(),
      preserve: () => file.preserve(),
      isUsable: () => file.isUsable((read) => holds(read(query) as AppliedRow[])),
      reopen: () => file.reopen(),
    };
  }
  return {
    look: async () => {
      if (engine.dialect === 'sqlite' || applied.size === 0) return 'intact';
      const rows = await session.statement<AppliedRow>(query, [], undefined).then(
        (found) => found.rows,
        (error: unknown) => {
          if (isGone(error)) return [];
          throw error;
        },
      );
      return holds(rows) ? 'intact' : 'emptied';
    },
    preserve: async () => undefined,
    isUsable: async () => true,
    reopen: async () => undefined,
  };
}

function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && goneCodes.has(error.code);
}
