import type { Engine } from './engine.js';
import { hostSchema, tableNames } from './names.js';
import { presentTables } from './recorded-tables.js';
import type { StorageProbe } from './storage-watch.js';
import type { Session } from './transaction.js';

/** Names of the migrations that this process relies on, by plugin. */
export type Applied = Map<string, readonly string[]>;

interface AppliedRow {
  readonly plugin: string;
  readonly name: string;
}

interface ReadRow extends AppliedRow {
  readonly kind: 'migration' | 'missing';
}

/** SQLSTATE of a table and of a schema that do not exist. */
const goneCodes: ReadonlySet<unknown> = new Set(['42P01', '3F000']);

/** An embedded database is identified by its file, a server's database by its tables. */
export function storageProbe(engine: Engine, session: Session, applied: Applied): StorageProbe {
  const { file } = engine;
  const { table } = tableNames(hostSchema, engine.dialect, [hostSchema]);
  const migrations = `select plugin, name from ${table(`${hostSchema}.migrations`)}`;
  const missing = `select plugin, name from ${table(`${hostSchema}.tables`)} where name not in (${presentTables[engine.dialect]})`;
  const holds = (rows: readonly AppliedRow[]): boolean => {
    const present = new Set(rows.map(({ plugin, name }) => `${plugin} ${name}`));
    return [...applied].every(([plugin, names]) => names.every((name) => present.has(`${plugin} ${name}`)));
  };
  if (file !== undefined) {
    let missingTables: readonly string[] = [];
    return {
      look: async () => {
        const state = await file.look();
        const rows = state === 'intact' && applied.size > 0 ? (file.read(missing) as AppliedRow[] | undefined) : [];
        if (rows !== undefined) missingTables = namesOf(rows);
        return { state, missingTables };
      },
      preserve: () => file.preserve(),
      isUsable: () => file.isUsable((read) => holds(read(migrations) as AppliedRow[])),
      reopen: () => file.reopen(),
    };
  }
  const query = `select 'migration' as kind, plugin, name from (${migrations}) as recorded
    union all select 'missing' as kind, plugin, name from (${missing}) as gone`;
  return {
    look: async () => {
      if (engine.dialect === 'sqlite' || applied.size === 0) return { state: 'intact', missingTables: [] };
      const rows = await session.statement<ReadRow>(query, [], undefined).then(
        (found) => found.rows,
        (error: unknown) => {
          if (isGone(error)) return [];
          throw error;
        },
      );
      const isEmptied = !holds(rows.filter(({ kind }) => kind === 'migration'));
      if (isEmptied) return { state: 'emptied', missingTables: [] };
      return { state: 'intact', missingTables: namesOf(rows.filter(({ kind }) => kind === 'missing')) };
    },
    preserve: async () => undefined,
    isUsable: async () => true,
    reopen: async () => undefined,
  };
}

function namesOf(rows: readonly AppliedRow[]): readonly string[] {
  return rows.map(({ name }) => name).sort();
}

function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && goneCodes.has(error.code);
}
