import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../sdk/context.js';
import { MortiseError } from '../sdk/errors.js';
import type { Database, Dialect } from '../sdk/host/database.js';
import type { InstancesService } from '../sdk/host/instances.js';
import type { LeasesService } from '../sdk/host/leases.js';
import type { Engine, PoolReading } from './engine.js';
import { databaseError, errorKind, shortReason } from './errors.js';
import { type InstanceTimes, type RegisteredInstance, registerInstance } from './instances.js';
import { leaseService } from './leases.js';
import { hostMigrations, prepareMigrations } from './migrate.js';
import { hostSchema } from './names.js';
import { localBus, postgresBus } from './notify.js';
import { OpenTransactions, type TransactionWatch } from './open-transactions.js';
import { type PluginDatabaseDeps, pluginDatabase } from './plugin-database.js';
import { postgresEngine } from './postgres.js';
import { type DatabaseSettings, renamedSchemas } from './settings.js';
import { SpaceWatch, writeMuch } from './space.js';
import { sqliteEngine } from './sqlite.js';
import { type Applied, storageProbe } from './storage-probe.js';
import { type StorageEvents, type StorageLoss, StorageWatch } from './storage-watch.js';
import { Session } from './transaction.js';

/** The open database of a process. */
export interface DatabaseHost {
  readonly dialect: Dialect;
  /** Names the database for people; never with a password. */
  readonly target: string;
  readonly instances: InstancesService;
  readonly leases: LeasesService;
  /** @throws MortiseError `schema_reserved` */
  forPlugin(plugin: string, schemas: readonly string[]): Database;
  pool(): PoolReading;
  readonly storage: DatabaseStorage;
  /** Rolls back the open transactions of a plugin that is being released. */
  endTransactions(plugin: string): void;
  /** Rolls back a plugin's open transactions once they are idle for a second, because another caller waits. */
  hurryTransactions(plugin: string): void;
  /** The plugin that blocks others with an idle open transaction. */
  holder(): string | undefined;
  /** Releases leases, unregisters this process, waits for running work and closes; a second call does nothing. */
  close(): Promise<void>;
}

/** Whether the storage is still the one that was opened. While it is not, every call is refused with `database_lost`. */
interface DatabaseStorage {
  readonly loss: StorageLoss | undefined;
  /** Physical names of missing tables that migrations created: calls that need them fail. */
  readonly missingTables: readonly string[];
  /** Checks now; otherwise it is checked once a second. */
  check(): Promise<void>;
  /** A path to read the lost file while this process runs; undefined where the system has none. */
  lostFile(): string | undefined;
  /** Uses the storage that now has its place. @throws MortiseError `database_unavailable` */
  reopen(): Promise<void>;
}

export interface OpenOptions {
  /** How long an unreachable database is retried; 10,000 ms when absent. */
  readonly retryMs?: number;
  readonly instances?: InstanceTimes;
  /** Called for each write that is refused for lack of space. */
  readonly onFull?: () => void;
  /** Called once there is space again. */
  readonly onSpace?: () => void;
  /** Delay between a refused write and the next check for space; 5,000 ms when absent. */
  readonly spaceTrialMs?: number;
  readonly transactions?: TransactionWatch;
  readonly storage?: StorageEvents;
  /** Interval of the check whether the storage is still there, milliseconds; 1,000 when absent. */
  readonly storageLookMs?: number;
}

/**
 * Opens the database in the settings and creates the platform's tables in it.
 *
 * @throws MortiseError `database_unreachable` after ten seconds of trying, `database_refused`, `database_unusable`
 */
export async function openDatabase(
  settings: DatabaseSettings,
  log: Logger,
  options: OpenOptions = {},
): Promise<DatabaseHost> {
  const open = new OpenTransactions(log, options.transactions);
  const onFull = (): void => {
    space.refused();
    options.onFull?.();
  };
  const { engine, session, bus } = connect(settings, log, onFull, open);
  const space = new SpaceWatch({
    attempt: () => session.outside(() => writeMuch(pluginDatabase(deps, hostSchema, [hostSchema]))),
    regained: () => options.onSpace?.(),
    afterMs: options.spaceTrialMs,
  });
  let registered: RegisteredInstance | undefined;
  const applied: Applied = new Map();
  const storage = new StorageWatch(
    storageProbe(engine, session, applied),
    options.storage ?? {},
    log,
    options.storageLookMs,
  );
  const deps: PluginDatabaseDeps = {
    engine,
    session,
    bus,
    renamed: renamedSchemas(settings),
    assertPresent: () => storage.assertPresent(),
    migrated: (plugin, migrations) =>
      void applied.set(
        plugin,
        migrations.map(({ name }) => name),
      ),
    probe: async () => {
      storage.assertPresent();
      await space.check(engine.dialect === 'sqlite' ? engine.target : undefined);
      await registered?.heartbeat();
    },
  };
  const unusable = engine.dialect === 'sqlite' ? 'database_unusable' : 'database_refused';
  try {
    await reach(engine, session, log, options.retryMs ?? 10_000);
    await prepareMigrations(engine, session);
    const own = pluginDatabase(deps, hostSchema, [hostSchema]);
    await own.migrate(hostMigrations);
    const leases = leaseService(own, log);
    const instances = await registerInstance(own, log, options.instances);
    registered = instances;

    let closing: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      storage.dispose();
      space.close();
      await leases.dispose();
      await instances.dispose();
      await bus.close();
      await engine.close();
    };
    return {
      dialect: engine.dialect,
      target: engine.target,
      instances,
      leases,
      forPlugin: (plugin, schemas) => pluginDatabase(deps, plugin, schemas),
      pool: () => engine.pool(),
      storage: {
        get loss() {
          return storage.loss;
        },
        get missingTables() {
          return storage.missingTables;
        },
        check: () => session.outside(() => storage.check()),
        lostFile: () =>
          storage.loss === undefined || storage.loss === 'overwritten' ? undefined : engine.file?.openPath(),
        reopen: async () => {
          await session.outside(() => storage.reopen());
          await instances.heartbeat();
        },
      },
      endTransactions: (plugin) => open.end(plugin),
      hurryTransactions: (plugin) => open.hurry(plugin),
      holder: () => open.holder(),
      close() {
        closing ??= session.outside(close);
        return closing;
      },
    };
  } catch (error) {
    storage.dispose();
    space.close();
    await engine.close();
    if (error instanceof MortiseError) throw error;
    // It answers but is read-only: a write-protected file, or a replica.
    throw databaseError(unusable, { target: engine.target, reason: shortReason(error) }, error);
  }
}

function connect(
  settings: DatabaseSettings,
  log: Logger,
  onFull: () => void,
  open: OpenTransactions,
): { readonly engine: Engine; readonly session: Session; readonly bus: PluginDatabaseDeps['bus'] } {
  if (settings.dialect === 'sqlite') {
    const engine = sqliteEngine(settings, log);
    const session = new Session(engine, log, onFull, open);
    return { engine, session, bus: localBus(session, log) };
  }
  const engine = postgresEngine(settings, log);
  const session = new Session(engine, log, onFull, open);
  return { engine, session, bus: postgresBus(settings, session, log) };
}

/** Wrong user, password or database name, and a file that is not a database: retrying does not help. */
const refusals = new Set(['28000', '28P01', '3D000', 'SQLITE_NOTADB', 'SQLITE_CORRUPT', 'SQLITE_READONLY']);

/** A database that starts together with the server may not be ready yet. */
async function reach(engine: Engine, session: Session, log: Logger, retryMs: number): Promise<void> {
  const deadline = performance.now() + retryMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await session.statement('select 1 as one', [], undefined);
      return;
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      const code = String((cause as { readonly code?: unknown }).code);
      const facts = { target: engine.target, reason: shortReason(cause) };
      const kind = errorKind(error);
      if (refusals.has(code) || (kind !== 'unavailable' && kind !== 'busy')) {
        throw databaseError(engine.dialect === 'sqlite' ? 'database_unusable' : 'database_refused', facts, error);
      }
      if (performance.now() >= deadline) {
        throw databaseError(engine.dialect === 'sqlite' ? 'database_unusable' : 'database_unreachable', facts, error);
      }
      if (attempt === 1) log.warn(facts, 'The database cannot be reached yet; trying again');
      await delay(250);
    }
  }
}
