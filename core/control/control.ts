import { existsSync } from 'node:fs';
import { readSmallFile } from '../files/index.js';
import { ownFile } from '../kernel/catalogue.js';
import type { PluginConfigSource } from '../kernel/deps.js';
import type { Kernel } from '../kernel/kernel.js';
import type { PluginRecord } from '../kernel/plugin-record.js';
import { isCodedError, MortiseError } from '../sdk/errors.js';
import type { DesiredExport, PluginControl, PluginRow, ToggleOptions } from '../sdk/host/plugin-control.js';
import type { EffectiveValue } from '../sdk/host/settings.js';
import { isJsonObject } from '../sdk/json.js';
import type { Desired } from '../settings/types.js';
import { planChanges, refuseDisable, refuseDisplacement, requiredOf, withToggled } from './changes.js';
import { findings } from './doctor.js';
import { detailOf, loadTree, rowOf } from './inspect.js';

/** How long a start may take once its plugin is being disabled, milliseconds. */
const startPatienceMs = 2_000;

interface ControlDeps {
  readonly kernel: Kernel;
  /** Effective configuration of one owner, secrets masked. */
  effective(owner: string): readonly EffectiveValue[];
  /** Writes the desired state to `plugins.json`, where it is stored elsewhere. */
  exportDesired(): Promise<DesiredExport>;
  /** States that other processes on the same database report. */
  replicas?(key: string): PluginRow['replicas'];
  /** The plugin that keeps others from the database, and how to end that. */
  readonly database?: {
    holder(): string | undefined;
    hurryTransactions(plugin: string): void;
  };
  /** What else keeps the process from being ready. */
  waiting?(): readonly Waiting[];
}

/** The order of the catalogue depends on when a plugin was found. */
function byKey(a: PluginRecord, b: PluginRecord): number {
  return a.key < b.key ? -1 : 1;
}

type Waiting = ReturnType<PluginControl['waiting']>[number];

/** The variables that override values in `given`. */
function overriddenValues(given: unknown, values: readonly EffectiveValue[]): Readonly<Record<string, string>> {
  const isGiven = (name: string): boolean => {
    const [, ...path] = name.split('.');
    const value = path.reduce<unknown>((inner, member) => (isJsonObject(inner) ? inner[member] : undefined), given);
    return value !== undefined;
  };
  return Object.fromEntries(
    values.flatMap(({ name, source, origin }) =>
      source === 'environment' && origin !== null && isGiven(name) ? [[name, origin]] : [],
    ),
  );
}

/** The engine behind the admin API and the CLI. Operations are serial and answer when the state is final. */
export function createControl(deps: ControlDeps): PluginControl {
  const { kernel, effective, exportDesired, replicas, waiting, database } = deps;
  const row = (record: PluginRecord): PluginRow => {
    const states = replicas?.(record.key);
    return { ...rowOf(kernel, record), ...(states ? { replicas: states } : {}) };
  };

  const find = (key: string): PluginRecord => {
    const record = kernel.plugins.record(key);
    if (record) return record;
    const known = kernel.plugins.records().map((one) => one.key);
    throw new MortiseError('plugin_not_found', `There is no plugin "${key}".`, {
      status: 404,
      details: { key, known },
      hint: 'mortise plugin list shows all keys.',
    });
  };

  const settled = (record: PluginRecord): PluginRow => {
    if (record.state === 'active') return rowOf(kernel, record);
    throw new MortiseError(
      'plugin_blocked',
      record.problem?.message ?? `The plugin ${record.key} is ${record.state}.`,
      {
        status: 422,
        details: {
          key: record.key,
          state: record.state,
          code: record.problem?.code ?? null,
          row: rowOf(kernel, record),
        },
        ...(record.problem ? { hint: record.problem.hint } : {}),
      },
    );
  };

  const want = (keys: readonly string[], enabled: boolean, options: ToggleOptions | undefined): Promise<Desired> =>
    kernel.deps.desired.write(
      (current) => {
        const next = { ...current, plugins: withToggled(kernel, current.plugins, keys, enabled) };
        if (enabled) refuseDisplacement(kernel, next, keys);
        return next;
      },
      options?.revision === undefined ? {} : { revision: options.revision },
    );

  const operate = <T>(operation: () => Promise<T>): Promise<T> =>
    kernel.serial(async () => {
      try {
        return await operation();
      } catch (error) {
        // A failed operation may have changed the desired state already; a refused one has not.
        if (!isCodedError(error) || (error.status ?? 500) >= 500) await kernel.reconcile().catch(() => undefined);
        throw error;
      }
    });

  const changeConfig = (
    key: string,
    given: Readonly<Record<string, unknown>>,
    options: ToggleOptions | undefined,
    change: (config: PluginConfigSource) => Promise<unknown>,
  ): ReturnType<PluginControl['configure']> =>
    operate(async () => {
      const record = find(key);
      checkRevision(kernel, options);
      if (!record.config) {
        throw new MortiseError('invalid_config', `The plugin ${record.key} has no configuration.`, {
          status: 422,
          details: { errors: [{ path: '', message: 'this plugin takes no configuration' }] },
        });
      }
      await change(record.config);
      const applied = await kernel.applyConfig(record);
      const overridden = overriddenValues(given, effective(record.key));
      return {
        applied: record.run === undefined ? 'next start' : applied === 'none' ? 'unchanged' : applied,
        ...(Object.keys(overridden).length > 0 ? { overridden } : {}),
      };
    });

  return {
    revision: () => kernel.plugins.desired.revision,

    list: () => kernel.plugins.records().toSorted(byKey).map(row),

    inspect: async (key) => {
      const record = find(key);
      return { ...(await detailOf(kernel, record, effective)), ...row(record) };
    },

    shippedText: async (key, file) => {
      const { entry, run } = find(key);
      const path = await ownFile((run?.entry ?? entry).folder, file);
      return path !== undefined && existsSync(path) ? readSmallFile(path) : null;
    },

    plan: async (changes) => {
      await kernel.rescanIfIdle();
      return planChanges(kernel, changes, find);
    },

    enable: (key, options) =>
      operate(async () => {
        // What the plugin's folder says now decides whether it may displace others.
        await kernel.rescan();
        const record = find(key);
        await want([record.key], true, options);
        kernel.clear(record);
        await kernel.reconcile();
        return settled(find(record.key));
      }),

    disable: async (key, options) => {
      const endWait = endHangingStart(kernel, find(key), options);
      return operate(async () => {
        endWait();
        const record = find(key);
        const dependants = refuseDisable(kernel, record.key, options?.cascade === true);
        await want([record.key, ...dependants], false, options);
        await kernel.reconcile();
        return rowOf(kernel, find(record.key));
      });
    },

    restart: (key, options) =>
      operate(async () => {
        const record = find(key);
        checkRevision(kernel, options);
        await kernel.restart(record, 'restart');
        return settled(find(record.key));
      }),

    release: (key, options) =>
      operate(async () => {
        const record = find(key);
        checkRevision(kernel, options);
        kernel.clear(record);
        await kernel.reconcile();
        return settled(find(record.key));
      }),

    configure: (key, config, options) => changeConfig(key, config, options, (own) => own.write(config)),

    patchConfig: (key, patch, options) => changeConfig(key, patch, options, (own) => own.patch(patch)),

    export: (options) =>
      operate(async () => {
        checkRevision(kernel, options);
        return exportDesired();
      }),

    doctor: async (key) => findings(kernel, key === undefined ? undefined : find(key)),

    tree: () => loadTree(kernel),

    databaseHolder: () => database?.holder() ?? null,

    hurry: (key) => database?.hurryTransactions(key),

    waiting: () =>
      kernel.plugins
        .records()
        .filter((record) => kernel.plugins.isRequired(record.key) && record.state !== 'active')
        .map((record): Waiting => ({ key: record.key, state: record.state, code: record.problem?.code ?? null }))
        .concat(waiting?.() ?? []),
  };
}

/**
 * A start that hangs must not delay its own end: starts that take too long are ended, unless the request will be refused.
 *
 * @returns the step that ends the watch and lets held plugins start again
 */
function endHangingStart(kernel: Kernel, record: PluginRecord, options: ToggleOptions | undefined): () => void {
  const staleRevision = options?.revision !== undefined && options.revision !== kernel.plugins.desired.revision;
  const dependants = kernel.plugins.dependants(record.key).flatMap((key) => kernel.plugins.record(key) ?? []);
  const affected = [record, ...dependants];
  const keys = affected.map(({ key }) => key);
  if (staleRevision || (!options?.cascade && dependants.length > 0) || requiredOf(kernel, keys) !== undefined)
    return () => undefined;
  let release: (() => void) | undefined;
  // Only the time in `starting` counts: other operations in the queue may take their time.
  const look = (): void => {
    const latest = kernel.deps.clock.now() - startPatienceMs;
    if (affected.some(({ state, since }) => state === 'starting' && since <= latest))
      release = kernel.holdBack(affected);
    else timer = setTimeout(look, startPatienceMs / 4);
  };
  let timer = setTimeout(look, startPatienceMs);
  return () => {
    clearTimeout(timer);
    release?.();
  };
}

function checkRevision(kernel: Kernel, options: ToggleOptions | undefined): void {
  if (options?.revision === undefined || options.revision === kernel.plugins.desired.revision) return;
  throw new MortiseError('revision_conflict', 'The desired state has changed since it was read.', {
    status: 409,
    details: { revision: kernel.plugins.desired.revision, given: options.revision },
    hint: 'Read the list again and repeat with its revision.',
  });
}
