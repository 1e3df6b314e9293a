import { basename, isAbsolute, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { DatabaseHost } from '../database/index.js';
import type { Desired, DesiredStore } from '../kernel/deps.js';
import type { Disposable, Logger } from '../sdk/context.js';
import type { Database } from '../sdk/host/database.js';
import type { DesiredExport } from '../sdk/host/plugin-control.js';
import type { PluginsFile } from '../settings/types.js';
import { openSharedDesired, pluginsSchema } from './shared-desired.js';

/** Which plugins should run: the file, or on PostgreSQL the row that all replicas share. */
export interface DesiredState extends Disposable {
  readonly store: DesiredStore;
  /** The schema of what replicas share; undefined with the file. */
  readonly shared: Database | undefined;
  /** Writes what replicas share back to the file; with the file there is nothing to do. */
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

/** The same state in which only some plugins are enabled: for commands that need no others. Nothing is written to it. */
export function onlyPlugins(store: DesiredStore, keys: readonly string[]): DesiredStore {
  const { current } = store;
  const kept = keys.map((key) => [key, { ...current.plugins[key], enabled: true }] as const);
  return {
    current: { ...current, plugins: Object.fromEntries(kept) },
    subscribe: () => ({ dispose: () => undefined }),
    write: (change, options) => store.write(change, options),
  };
}

function withoutRevision({ revision: _, ...rest }: Desired): Omit<Desired, 'revision'> {
  return { version: 1, plugins: rest.plugins, bindings: rest.bindings, renamed: rest.renamed };
}

/** A path as anyone may see it. */
function shownFile(projectDir: string, file: string): string {
  const inside = relative(projectDir, file);
  return inside.startsWith('..') || isAbsolute(inside) ? basename(file) : inside;
}
