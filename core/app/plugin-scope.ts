import type { FetchGuard } from '../fetch/index.js';
import { createFiles } from '../files/index.js';
import type { CatalogueEntry } from '../kernel/catalogue.js';
import type { PluginScope } from '../kernel/deps.js';
import { createSchemaCompiler } from '../schema/index.js';
import type { GuardedFetch } from '../sdk/host/fetch.js';
import type { HostServices } from '../sdk/host/index.js';
import { type Composition, type LazyFetch, parts, serviceToken } from './composition.js';
import { withCallDepth } from './own-server-fetch.js';

/** The host services a manifest may ask for. */
export const hostServices = [
  'database',
  'http',
  'schedule',
  'fetch',
  'secrets',
  'files',
  'instances',
  'leases',
  'settings',
  'metrics',
  'schemas',
  'plugins',
] as const satisfies readonly (keyof HostServices)[];

/** Host services as one plugin gets them, each made on first use. */
export function openPluginScope(composition: Composition, entry: CatalogueEntry): PluginScope {
  const settings = composition.get(parts.settings);
  const permissions = entry.manifest?.permissions ?? {};
  const container = composition
    .child()
    .own(serviceToken('database'), (all) => all.get(parts.database).forPlugin(entry.key, permissions.schemas ?? []))
    .own(serviceToken('http'), (all) => all.get(parts.http).service)
    .own(serviceToken('schedule'), (all) => all.get(parts.scheduler))
    .own(serviceToken('fetch'), (all) => {
      const outward = all.get(parts.fetch);
      outward.load();
      return withCallDepth(outward.forHosts(permissions.network ?? []), all.get(parts.http).service);
    })
    .own(serviceToken('secrets'), () => settings.secretsFor(permissions.secrets ?? []))
    .own(serviceToken('files'), () =>
      createFiles({ plugin: entry.key, dataDir: settings.host.dataDir, pluginFolder: entry.folder }),
    )
    .own(serviceToken('instances'), (all) => all.get(parts.database).instances)
    .own(serviceToken('leases'), (all) => all.get(parts.database).leases)
    .own(serviceToken('settings'), () => settings.serviceFor(entry.key))
    .own(
      serviceToken('metrics'),
      (all) => all.get(parts.metrics).forPlugin(entry.key),
      (made) => (made as { dispose?(): void }).dispose?.(),
    )
    .own(serviceToken('schemas'), () => createSchemaCompiler())
    .own(serviceToken('plugins'), (all) => all.get(parts.control));
  return {
    use: (service) => container.get(serviceToken(service)),
    endTransactions: () => composition.get(parts.database).endTransactions(entry.key),
    dispose: () => container.dispose(),
  };
}

export function createLazyFetch(options: { readonly allowPrivate: boolean }): LazyFetch {
  let guard: Promise<FetchGuard> | undefined;
  const load = (): Promise<FetchGuard> => {
    guard ??= import('../fetch/index.js').then(({ createFetchGuard }) => createFetchGuard(options));
    return guard;
  };
  return {
    forHosts(patterns) {
      let own: GuardedFetch | undefined;
      const loaded = async (): Promise<GuardedFetch> => {
        own ??= (await load()).forHosts(patterns);
        return own;
      };
      return Object.assign(async (...args: Parameters<GuardedFetch>) => (await loaded())(...args), {
        check: async (...args: Parameters<GuardedFetch['check']>) => (await loaded()).check(...args),
        bytes: async (...args: Parameters<GuardedFetch['bytes']>) => (await loaded()).bytes(...args),
        socket: async (...args: Parameters<GuardedFetch['socket']>) => (await loaded()).socket(...args),
      });
    },
    load: () => void load().catch(() => undefined),
    close: async () => (await guard)?.close(),
  };
}
