import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { DatabaseHost } from '../database/index.js';
import type { DesiredStore } from '../kernel/deps.js';
import type { Disposable, Logger } from '../sdk/context.js';
import { MortiseError } from '../sdk/errors.js';
import { pathBelow } from '../sdk/folders.js';
import type { Database, Migration } from '../sdk/host/database.js';
import type { DesiredExport } from '../sdk/host/plugin-control.js';
import type { Desired, PluginsFile } from '../settings/types.js';

/** Which plugins should run: the file, or on PostgreSQL the row that all replicas share. */
export interface DesiredState extends Disposable {
  readonly store: DesiredStore;
  /** The tables that replicas share; undefined with the file. */
  readonly shared: Database | undefined;
  /** Writes the shared state back to the file; with the file there is nothing to do. */
  export(): Promise<DesiredExport>;
}

/** `database` is undefined where the file alone decides. @throws MortiseError of the database */
export async function openDesiredState(
  database: DatabaseHost | undefined,
  file: PluginsFile,
  projectDir: string,
  log: Logger,
): Promise<DesiredState> {
  const shown = shownFile(projectDir, file.file);
  if (database?.dialect !== 'postgres') {
    return {
      store: file,
      shared: undefined,
      export: async () => ({ file: shown, revision: file.current.revision, changed: false }),
      dispose: () => undefined,
    };
  }
  const shared = database.forPlugin('host-plugins', [pluginsSchema]);
  const store = await openSharedDesired(shared, file, log);
  return {
    store,
    shared,
    export: async () => {
      const { revision: _, ...wanted } = store.current;
      const before = file.current;
      const changed = !isDeepStrictEqual(wanted, withoutRevision(before));
      const after = changed ? await file.write((current) => ({ ...current, ...wanted })) : before;
      return { file: shown, revision: after.revision, changed };
    },
    dispose: () => store.dispose(),
  };
}

/** The same state with only some plugins enabled: for commands that need no others. */
export function onlyPlugins(store: DesiredStore, keys: readonly string[]): DesiredStore {
  const { current } = store;
  const enabled = keys.map((key) => [key, { ...current.plugins[key], enabled: true }] as const);
  return {
    current: { ...current, plugins: Object.fromEntries(enabled) },
    subscribe: () => ({ dispose: () => undefined }),
    write: (change, options) => store.write(change, options),
  };
}

/** A path that may be shown to anyone. */
function shownFile(projectDir: string, file: string): string {
  return pathBelow(projectDir, file) ?? basename(file);
}

/** Logical schema of the tables that replicas share about plugins. */
export const pluginsSchema = 'plugins';

const channel = 'mortise_desired';

/** How often the row is read in case an announcement was missed, milliseconds. */
const lookEveryMs = 1_000;

export const sharedMigrations: readonly Migration[] = [
  {
    name: '0001-desired-state',
    async up(schema) {
      await schema.createTable('plugins.desired', (table, columns) => {
        table.integer('id').primary();
        columns.millis('revision').notNullable();
        columns.json('state').notNullable();
      });
      await schema.createTable('plugins.replicas', (table, columns) => {
        table.string('instance_id', 64).notNullable();
        table.string('plugin', 64).notNullable();
        table.string('state', 16).notNullable();
        columns.time('at').notNullable();
        table.primary(['instance_id', 'plugin']);
      });
    },
  },
];

interface Row {
  readonly revision: number;
  readonly state: unknown;
}

/**
 * The desired state of a team of replicas: one row of the database, announced to all of them. The file fills an empty
 * table and is not read after that.
 */
async function openSharedDesired(
  database: Database,
  file: Pick<DesiredStore, 'current'>,
  log: Logger,
): Promise<DesiredStore & Disposable> {
  const listeners = new Set<() => void>();
  let current = await seed(database, file.current);

  const look = async (): Promise<void> => {
    try {
      const found = await read(database);
      if (!found || found.revision === current.revision) return;
      current = found;
      for (const listener of [...listeners]) listener();
    } catch (error) {
      log.warn(
        { error: error instanceof Error ? error.message : String(error) },
        'the desired state could not be read; it is tried again',
      );
    }
  };
  const announced = await database.listen(channel, () => void look(), { missed: () => void look() });
  const timer = setInterval(() => void look(), lookEveryMs);
  timer.unref();

  return {
    get current() {
      return current;
    },
    subscribe: (run) => {
      listeners.add(run);
      return { dispose: () => void listeners.delete(run) };
    },
    write: async (change, options) => {
      const next = await database.transaction(async (trx) => {
        // Locks the row before it is read, so that writers run one after the other.
        await database.statement('update {plugins.desired} set revision = revision where id = 1', [], { trx });
        const before = (await read(database, trx)) ?? current;
        if (options?.revision !== undefined && options.revision !== before.revision) {
          throw new MortiseError('revision_conflict', 'The desired state has changed since it was read.', {
            status: 409,
            details: { revision: before.revision, given: options.revision },
            hint: 'Read the list again and repeat with its revision.',
          });
        }
        const { revision: _, ...wanted } = change(before);
        const text = database.codec.json(wanted);
        if (text === database.codec.json(withoutRevision(before))) return before;
        const revision = before.revision + 1;
        await database.statement(
          'update {plugins.desired} set revision = ?, state = ? where id = 1',
          [revision, text],
          { trx },
        );
        await database.notify(channel, String(revision), { trx });
        return { ...wanted, revision };
      });
      current = next;
      return next;
    },
    dispose: async () => {
      clearInterval(timer);
      await announced.dispose();
    },
  };
}

async function seed(database: Database, file: Desired): Promise<Desired> {
  await database.migrate(sharedMigrations);
  await database.statement(
    'insert into {plugins.desired} (id, revision, state) values (1, ?, ?) on conflict (id) do nothing',
    [Math.max(1, file.revision), database.codec.json(withoutRevision(file))],
  );
  return (await read(database)) ?? file;
}

async function read(
  database: Database,
  trx?: Parameters<Parameters<Database['transaction']>[0]>[0],
): Promise<Desired | undefined> {
  const { rows } = await database.statement<Row>('select revision, state from {plugins.desired} where id = 1', [], {
    trx,
  });
  const row = rows[0];
  if (!row) return undefined;
  const state = database.codec.parseJson<Omit<Desired, 'revision'>>(row.state);
  return {
    version: 1,
    plugins: state.plugins ?? {},
    bindings: state.bindings ?? {},
    renamed: state.renamed ?? {},
    revision: row.revision,
  };
}

function withoutRevision({ revision: _, ...rest }: Desired): Omit<Desired, 'revision'> {
  return { version: 1, plugins: rest.plugins, bindings: rest.bindings, renamed: rest.renamed };
}
