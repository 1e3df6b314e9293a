import type { HttpServer, MountedRoute } from '../http/index.js';
import type { CatalogueEntry } from '../kernel/catalogue.js';
import type { Kernel } from '../kernel/kernel.js';
import type { PluginRecord } from '../kernel/plugin-record.js';
import type { Disposable } from '../sdk/context.js';
import { MortiseError } from '../sdk/errors.js';
import type { ManifestMount, PluginManifest } from '../sdk/manifest.js';
import type { PluginsFile } from '../settings/types.js';

/**
 * Keeps the route table equal to what the plugins' manifests declare. Routes and mounts of disabled plugins stay in it, so
 * that a refusal has the form of its API and can name the disabled plugin.
 *
 * @param own routes of the host itself
 */
export function mountRoutes(
  kernel: Kernel,
  http: HttpServer,
  own: readonly MountedRoute[],
  file: Pick<PluginsFile, 'source' | 'problem' | 'subscribe'>,
): Disposable {
  let planned = false;
  const mount = (): void => {
    planned = false;
    const records = kernel.plugins.records();
    const rank = (record: PluginRecord): number =>
      record.state === 'active' ? 0 : kernel.plugins.isEnabled(record.key) ? 1 : 2;
    const ranked = [...records].sort((a, b) => rank(a) - rank(b));
    const mounts = new Map(ranked.map((record) => [record.key, manifestOf(record)?.mounts ?? []]));
    const hint = correctionOf(file, kernel);
    const routes = ranked
      .flatMap((record) => routesOf(kernel, record, mounts))
      .map((route) => (hint === undefined || route.enabled ? route : { ...route, enabled: true, hint }));
    http.mount([...own, ...routes], [...mounts.values()].flat());
  };
  // Many plugins change state in one turn of the event loop: one new table is enough.
  const plan = (): void => {
    if (planned) return;
    planned = true;
    queueMicrotask(mount);
  };
  const fileChanges = file.subscribe(plan);
  const undo = [
    kernel.events.on('plugin-state', plan),
    kernel.registry.onChange('route', plan),
    () => fileChanges.dispose(),
  ];
  plan();
  return {
    dispose: () => {
      for (const step of undo) step();
    },
  };
}

/** What to do where neither plugins.json nor a copy of it says which plugins are enabled: none is called disabled then. */
function correctionOf(
  { source, problem }: Pick<PluginsFile, 'source' | 'problem'>,
  kernel: Kernel,
): string | undefined {
  const isUnknown = source === 'empty' && problem !== null && Object.keys(kernel.plugins.desired.plugins).length === 0;
  return isUnknown ? `No plugin is enabled. ${problem.fix}` : undefined;
}

type MountsByPlugin = ReadonlyMap<string, readonly ManifestMount[]>;

function manifestOf(record: PluginRecord): CatalogueEntry['manifest'] {
  return (record.run?.entry ?? record.entry).manifest;
}

/** The mount that a route names: one of its own plugin, or of a plugin in `requires` or `optional`. */
function mountOf(
  name: string | undefined,
  manifest: PluginManifest,
  mounts: MountsByPlugin,
): ManifestMount | undefined {
  if (name === undefined) return undefined;
  for (const plugin of [manifest.key, ...(manifest.requires ?? []), ...(manifest.optional ?? [])]) {
    const found = mounts.get(plugin)?.find((mount) => mount.name === name);
    if (found) return found;
  }
  return undefined;
}

function routesOf(kernel: Kernel, record: PluginRecord, mounts: MountsByPlugin): readonly MountedRoute[] {
  const manifest = manifestOf(record);
  const active = record.state === 'active';
  if (!manifest) return [];
  return (manifest.permissions?.routes ?? []).map((declaration) => {
    // Another plugin may have a route of the same name.
    const address = kernel.registry.address('route', record.key, declaration.name);
    return {
      plugin: record.key,
      declaration,
      mount: mountOf(declaration.mount, manifest, mounts),
      enabled: kernel.plugins.isEnabled(record.key),
      ...((active && kernel.registry.find('route', address)) || isStarting(record)
        ? {
            invoke: {
              call: (run, options) => {
                const call = () => kernel.points.call('route', address, run, options);
                return isStarting(record) ? started(kernel, record, options.signal).then(call) : call();
              },
            },
          }
        : {}),
    };
  });
}

/** How long a request waits for a plugin that is being started, milliseconds. */
const patienceMs = 10_000;

function isStarting(record: PluginRecord): boolean {
  return record.state === 'checking' || record.state === 'starting';
}

/** Waits for a plugin that is starting. @throws MortiseError `plugin_unavailable` (503) */
function started(kernel: Kernel, record: PluginRecord, gone: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (): void => {
      clearTimeout(timer);
      unwatch();
      gone?.removeEventListener('abort', done);
      if (record.state === 'active') resolve();
      else
        reject(
          new MortiseError('plugin_unavailable', `The plugin ${record.key} is ${record.state}.`, {
            status: 503,
            retryable: true,
            retryAfterSeconds: 1,
          }),
        );
    };
    const timer = setTimeout(done, patienceMs);
    const unwatch = kernel.events.on('plugin-state', ({ key }) => {
      if (key === record.key && !isStarting(record)) done();
    });
    gone?.addEventListener('abort', done, { once: true });
  });
}
