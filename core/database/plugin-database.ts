import type { ClaimRows, Database, Migration, SqlExpression, SqlValue, StatementResult } from '../sdk/host/database.js';
import { codec } from './codec.js';
import type { ClaimPlan, Engine } from './engine.js';
import { migrate } from './migrate.js';
import { type Names, tableNames } from './names.js';
import { type NotificationBus, notificationTopic } from './notify.js';
import { answersWithin } from './silence.js';
import type { Session } from './transaction.js';

const column = /^[a-z_][a-z0-9_]*$/i;
const ordering = /^[a-z_][a-z0-9_]*( asc| desc)?$/i;

/** Writes a claim with physical names. Column names come from code, but are still checked. */
function claimPlan(claim: ClaimRows, names: Names): ClaimPlan {
  const setBindings: SqlValue[] = [];
  const set = Object.entries(claim.set).map(([name, value]) => {
    if (!column.test(name)) throw new TypeError(`"${name}" is not a column name.`);
    if (isExpression(value)) {
      setBindings.push(...(value.bindings ?? []));
      return `${name} = ${value.sql}`;
    }
    setBindings.push(value);
    return `${name} = ?`;
  });
  for (const name of claim.orderBy) if (!ordering.test(name)) throw new TypeError(`"${name}" is not a sort order.`);
  if (!column.test(claim.key)) throw new TypeError(`"${claim.key}" is not a column name.`);
  if (!Number.isSafeInteger(claim.limit) || claim.limit < 1) throw new RangeError('A claim takes at least one row.');
  return {
    table: names.table(claim.table),
    key: claim.key,
    where: names.expand(claim.where),
    whereBindings: claim.bindings ?? [],
    orderBy: [...claim.orderBy, claim.key].join(', '),
    limit: claim.limit,
    set: set.join(', '),
    setBindings,
  };
}

function isExpression(value: ClaimRows['set'][string]): value is SqlExpression {
  return typeof value === 'object' && value !== null && 'sql' in value && typeof value.sql === 'string';
}

export interface PluginDatabaseDeps {
  readonly engine: Engine;
  readonly session: Session;
  readonly bus: NotificationBus;
  /** Physical schema names that differ from the logical ones. */
  readonly renamed: Readonly<Record<string, string>>;
  /** @throws MortiseError `database_lost` while the storage is not the one that was opened */
  assertPresent(): void;
  /** Called with the migrations that the database has now. */
  migrated(plugin: string, migrations: readonly Migration[]): void;
  /** Writes and commits something small. */
  probe(): Promise<unknown>;
}

/** The database as one plugin sees it: its own schemas, its own migrations, its own channels. */
export function pluginDatabase(deps: PluginDatabaseDeps, plugin: string, schemas: readonly string[]): Database {
  const { engine, session, bus } = deps;
  const names = tableNames(plugin, engine.dialect, schemas, deps.renamed);
  return {
    dialect: engine.dialect,
    now: engine.now,
    codec,
    table: names.table,
    query: (options) => {
      deps.assertPresent();
      return session.query(options?.trx);
    },
    // Not async as a whole: the names are checked synchronously.
    statement: async (sql, bindings = [], options) => {
      deps.assertPresent();
      return session.statement(names.expand(sql), bindings, options?.trx);
    },
    batch: async (statements, { trx }) => {
      deps.assertPresent();
      const expanded = statements.map(({ sql, bindings = [] }) => ({ sql: names.expand(sql), bindings }));
      return (await session.batch(expanded, trx)) as StatementResult<Record<string, unknown>>[];
    },
    transaction: async (run, options) => {
      deps.assertPresent();
      return session.transaction(run, { ...options, plugin });
    },
    afterCommit: (trx, run) => session.afterCommit(trx, run),
    migrate: async (migrations) => {
      deps.assertPresent();
      await migrate(engine, session, plugin, names, migrations);
      deps.migrated(plugin, migrations);
    },
    claim: async (claim, options) => {
      deps.assertPresent();
      return session.claim(claimPlan(claim, names), options?.trx);
    },
    notify: async (channel, payload, options) =>
      bus.notify(notificationTopic(plugin, channel, payload), payload, options?.trx),
    listen: async (channel, run, options) =>
      bus.listen(notificationTopic(plugin, channel), { run, missed: options?.missed }),
    // On a separate connection, also from inside a transaction.
    ping: (timeoutMs = 2_000) =>
      answersWithin(timeoutMs, async () => {
        deps.assertPresent();
        return session.outside(() => session.statement('select 1 as one', [], undefined));
      }),
    canWrite: (timeoutMs = 2_000) => answersWithin(timeoutMs, () => session.outside(deps.probe)),
  };
}
