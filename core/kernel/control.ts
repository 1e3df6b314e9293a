import { MortiseError } from '../sdk/errors.js';
import type {
  ContributionStats,
  DesiredExport,
  LoadTreeNode,
  PluginChange,
  PluginControl,
  PluginDetail,
  PluginPlan,
  PluginRow,
  ToggleOptions,
} from '../sdk/host/plugin-control.js';
import type { EffectiveValue } from '../sdk/host/settings.js';
import { contributionKey } from './contributions.js';
import { findings } from './doctor.js';
import type { Kernel } from './kernel.js';
import type { PluginRecord } from './plugin-record.js';
import type { Desired } from './ports.js';

export interface ControlPorts {
  readonly kernel: Kernel;
  /** Effective configuration of one owner, secrets masked. */
  effective(owner: string): readonly EffectiveValue[];
  /** Writes the desired state to `plugins.json`, where that is not its place. */
  exportDesired(): Promise<DesiredExport>;
  /** States that other processes on the same database report. */
  replicas?(key: string): NonNullable<PluginRow['replicas']>;
}

/** The engine behind the admin API and the CLI. Operations are serial and answer when the state is final. */
export function createControl({ kernel, effective, exportDesired, replicas }: ControlPorts): PluginControl {
  const row = (record: PluginRecord): PluginRow => ({
    ...rowOf(kernel, record),
    ...(replicas ? { replicas: replicas(record.key) } : {}),
  });

  const find = (key: string): PluginRecord => {
    const record = kernel.record(key);
    if (record) return record;
    const known = kernel.records().map((one) => one.key);
    throw new MortiseError('plugin_not_found', `There is no plugin "${key}".`, {
      status: 404,
      details: { key, known },
      hint: 'mortise plugin list shows the keys there are.',
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
    kernel.ports.desired.write(
      (current) => ({ ...current, plugins: withToggled(kernel, current.plugins, keys, enabled) }),
      options?.revision === undefined ? {} : { revision: options.revision },
    );

  const operate = <T>(operation: () => Promise<T>): Promise<T> => kernel.serial(operation);

  return {
    revision: () => kernel.desired.revision,

    list: () => kernel.records().map(row),

    inspect: async (key) => {
      const record = find(key);
      return { ...(await detailOf(kernel, record, effective)), ...row(record) };
    },

    plan: (changes) => planOf(kernel, changes, find),

    enable: (key, options) =>
      operate(async () => {
        if (!kernel.record(key)) await kernel.reconcile();
        const record = find(key);
        await want([record.key], true, options);
        kernel.clear(record);
        await kernel.reconcile();
        return settled(find(record.key));
      }),

    disable: (key, options) =>
      operate(async () => {
        const record = find(key);
        const dependants = kernel.dependants(record.key);
        if (dependants.length > 0 && !options?.cascade && kernel.isEnabled(record.key)) {
          throw new MortiseError(
            'plugin_has_dependants',
            `Other plugins need ${record.key}: ${dependants.join(', ')}.`,
            {
              status: 409,
              details: { key: record.key, dependants },
              hint: `Disable them first, or all together: mortise plugin disable ${record.key} --cascade`,
            },
          );
        }
        await want([record.key, ...(options?.cascade ? dependants : [])], false, options);
        await kernel.reconcile();
        return rowOf(kernel, find(record.key));
      }),

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

    configure: (key, config, options) =>
      operate(async () => {
        const record = find(key);
        checkRevision(kernel, options);
        if (!record.config) {
          throw new MortiseError('invalid_config', `The plugin ${record.key} has no configuration.`, {
            status: 422,
            details: { errors: [{ path: '', message: 'this plugin takes no configuration' }] },
          });
        }
        await record.config.write(config);
        const applied = await kernel.applyConfig(record);
        return { applied: applied === 'live' ? 'live' : 'restarted' };
      }),

    export: (options) =>
      operate(async () => {
        checkRevision(kernel, options);
        return exportDesired();
      }),

    doctor: async (key) => findings(kernel, key === undefined ? undefined : find(key)),

    tree: () => treeOf(kernel),

    waiting: () =>
      kernel
        .records()
        .filter((record) => kernel.isRequired(record.key) && record.state !== 'active')
        .map((record) => ({ key: record.key, state: record.state, code: record.problem?.code ?? null })),
  };
}

function checkRevision(kernel: Kernel, options: ToggleOptions | undefined): void {
  if (options?.revision === undefined || options.revision === kernel.desired.revision) return;
  throw new MortiseError('revision_conflict', 'The desired state has changed since it was read.', {
    status: 409,
    details: { revision: kernel.desired.revision, given: options.revision },
    hint: 'Read the list again and repeat with its revision.',
  });
}

/** A plugin that the file names otherwise (an old key, another spelling) gets one row, under its present key. */
export function withToggled(
  kernel: Pick<Kernel, 'resolve'>,
  plugins: Desired['plugins'],
  keys: readonly string[],
  enabled: boolean,
): Desired['plugins'] {
  const next = { ...plugins };
  for (const key of keys) {
    const before = Object.entries(plugins).filter(([name]) => kernel.resolve(name) === key);
    for (const [name] of before) if (name !== key) delete next[name];
    next[key] = { ...Object.assign({}, ...before.map(([, wanted]) => wanted)), ...plugins[key], enabled };
  }
  return next;
}

export function rowOf(kernel: Kernel, record: PluginRecord): PluginRow {
  const manifest = (record.run?.entry ?? record.entry).manifest;
  return {
    key: record.key,
    title: manifest?.title ?? record.key,
    version: manifest?.version ?? '0.0.0',
    source: record.entry.source,
    tier: record.tier,
    desired: kernel.isEnabled(record.key) ? 'enabled' : 'disabled',
    state: record.state,
    since: new Date(record.since).toISOString(),
    code: record.problem?.code ?? null,
    message: record.problem?.message ?? null,
    hint: record.problem?.hint ?? null,
    required: kernel.isRequired(record.key),
    contributes: contributionsOf(record),
    requires: manifest?.requires ?? [],
    config_valid: !record.config?.problem,
  };
}

function contributionsOf(record: PluginRecord): Readonly<Record<string, readonly string[]>> {
  const manifest = record.entry.manifest;
  if (!manifest) return {};
  const rows: Record<string, readonly string[]> = {};
  for (const [point, contributions] of Object.entries(manifest.contributes ?? {}))
    rows[point] = contributions.map(contributionKey);
  const routes = manifest.permissions?.routes ?? [];
  if (routes.length > 0) rows.route = routes.map((route) => route.name);
  return rows;
}

async function detailOf(
  kernel: Kernel,
  record: PluginRecord,
  effective: ControlPorts['effective'],
): Promise<PluginDetail> {
  return {
    ...rowOf(kernel, record),
    manifest: record.entry.manifest,
    config: effective(record.key).map(({ name, value, source, origin }) => ({ name, value, source, origin })),
    contributions: (record.run?.staging.held ?? []).map(
      ({ point, key, stats }): ContributionStats => ({
        point,
        key,
        calls: stats.calls,
        errors: stats.errors,
        in_flight: stats.inFlight,
        p50_ms: rounded(stats.percentile(0.5)),
        p95_ms: rounded(stats.percentile(0.95)),
      }),
    ),
    dependants: kernel.dependants(record.key),
    health: (await record.run?.health()) ?? null,
    last_fault: record.lastFault ? { ...record.lastFault, at: new Date(record.lastFault.at).toISOString() } : null,
    load_times_ms: record.times,
    history: record.history.map(({ state, at, code }) => ({ state, at: new Date(at).toISOString(), code })),
  };
}

function rounded(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.round(milliseconds * 1_000) / 1_000;
}

function planOf(kernel: Kernel, changes: readonly PluginChange[], find: (key: string) => PluginRecord): PluginPlan {
  const plugins: Record<string, Desired['plugins'][string]> = { ...kernel.desired.plugins };
  const bindings: Record<string, string> = { ...kernel.desired.bindings };
  const configs = new Map<string, Readonly<Record<string, unknown>>>();
  for (const change of changes) {
    const { key } = find(change.key);
    const before = plugins[key] ?? { enabled: false };
    plugins[key] = {
      ...before,
      ...(change.enabled === undefined ? {} : { enabled: change.enabled }),
      ...(change.order === undefined ? {} : { order: change.order }),
    };
    if (change.bind !== undefined) bindings[change.bind] = key;
    if (change.config) configs.set(key, change.config);
  }
  const plan = kernel.planFor({ ...kernel.desired, plugins, bindings }, configs);
  const running = kernel.records().filter((record) => record.run);
  const starts = [...plan.values()].filter(
    ({ entry, problem }) => !problem && !running.some((record) => record.key === entry.key),
  );
  const stops = running.filter((record) => plan.get(record.key)?.problem !== null);
  const wider = starts.flatMap(({ entry }) =>
    permissionsOf(entry.manifest?.permissions).map((permission) => `${entry.key}: ${permission}`),
  );
  return {
    starts: starts.map(({ entry }) => entry.key),
    stops: stops.map((record) => record.key),
    drains: stops.flatMap((record) =>
      record.run && record.run.leases.inFlight > 0 ? [{ key: record.key, inFlight: record.run.leases.inFlight }] : [],
    ),
    blocked: [...plan.values()].flatMap(({ entry, problem }) =>
      problem ? [{ key: entry.key, code: problem.code, message: problem.message }] : [],
    ),
    wider,
  };
}

function permissionsOf(permissions: NonNullable<PluginRecord['entry']['manifest']>['permissions']): readonly string[] {
  if (!permissions) return [];
  const { services = [], routes = [], network = [], secrets = [], files = [], exec = [] } = permissions;
  return [
    ...services.map((name) => `service ${name}`),
    ...routes.map(
      (route) =>
        `route ${[route.method ?? (route.kind === 'upgrade' ? 'UPGRADE' : 'GET')].flat().join('|')} ${route.path} (${route.auth})`,
    ),
    ...network.map((host) => `network ${host}`),
    ...secrets.map((name) => `secret ${name}`),
    ...files.map((folder) => `files ${folder}`),
    ...exec.map((program) => `exec ${program}`),
  ];
}

function treeOf(kernel: Kernel): readonly LoadTreeNode[] {
  const node = (record: PluginRecord, path: readonly string[]): LoadTreeNode => ({
    key: record.key,
    state: record.state,
    ms: record.times,
    requires: record.required.flatMap((key) => {
      const needed = kernel.record(key);
      return needed && !path.includes(key) ? [node(needed, [...path, record.key])] : [];
    }),
  });
  const records = kernel.records().filter((record) => kernel.isEnabled(record.key));
  const needed = new Set(records.flatMap((record) => record.required));
  const roots = records.filter((record) => !needed.has(record.key));
  return (roots.length > 0 ? roots : records).map((record) => node(record, []));
}
