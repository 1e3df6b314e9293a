import { join, resolve } from 'node:path';
import { activeByKey, createContributionCache, type PluginDefinition } from 'mortise/sdk';
import { readCatalogue } from './catalogue.js';
import { activeGetCommand, activeSetCommand, configCommand, deleteCommand, listCommand } from './commands.js';
import type { Config } from './config.generated.js';
import { providerTables } from './migrations/0001-providers.js';
import { ModelAdministration } from './model-administration.js';
import { ModelCache } from './model-cache.js';
import { modelSettings } from './model-settings.js';
import { modelsService, readSlot } from './models-service.js';
import { changesChannel, ProviderStore } from './provider-store.js';
import {
  activeModelRoute,
  catalogRoute,
  configureProviderRoute,
  deleteProviderRoute,
  listProvidersRoute,
  setActiveModelRoute,
} from './routes.js';
import { adapterNames } from './show-models.js';

/** Maximum age of cached data on a replica that missed a notification, milliseconds. */
const rereadEveryMs = 10_000;

/** Model providers, and the choice of the model of a request. */
export default function models(): PluginDefinition<Config> {
  return {
    key: 'models',
    async start(host) {
      const { config, log } = host;
      const database = host.use('database');
      const secrets = host.use('secrets');
      const envs = host.watch('envs');
      const fallbacks = config.fallbacks.map(readSlot);
      await database.migrate([providerTables]);
      const adapters = createContributionCache(
        host.points,
        'provider',
        (all) => new Map([...activeByKey(all)].map(([key, { facts }]) => [key, facts])),
      );
      const shipped = join(host.use('files').pluginFolder, 'catalogue.json');
      const store = new ProviderStore({ database, secrets, audit: host.use('audit'), log });
      const cache = new ModelCache({
        store,
        catalogue: await readCatalogue(shipped, config.catalogue && resolve(config.catalogue)),
        adapters,
        variables: {
          read: (name) => envs.current?.get(name) ?? secrets.get(name),
          names: () => [...(envs.current?.all().keys() ?? []), ...secrets.names()],
        },
        configured: config.model === undefined ? undefined : readSlot(config.model),
        fallbacks,
        limits: config,
      });
      const invalidate = () => cache.invalidate();
      let listening = envs.current?.onChange(invalidate);
      envs.onChange((service) => {
        listening?.dispose();
        listening = service?.onChange(invalidate);
        invalidate();
      });
      host.own(await database.listen(changesChannel, invalidate, { missed: invalidate }));
      if (database.dialect === 'postgres') host.every(rereadEveryMs, invalidate);
      const administration = new ModelAdministration({
        cache,
        store,
        adapterNames: () => adapterNames(host.points.list('provider')),
        refused: (refusal) => host.emit('refusal', refusal),
      });

      host.provide('models', modelsService(cache, fallbacks, log));
      host.provide(
        'model-settings',
        modelSettings({ database, cache, store, checkRight: (ctx, target) => administration.checkRight(ctx, target) }),
      );
      host.contribute('route', 'list-providers', listProvidersRoute(cache));
      host.contribute('route', 'model-catalog', catalogRoute(cache, adapters));
      host.contribute('route', 'active-model', activeModelRoute(cache));
      host.contribute('route', 'set-active-model', setActiveModelRoute(administration));
      host.contribute('route', 'configure-provider', configureProviderRoute(administration));
      host.contribute('route', 'delete-provider', deleteProviderRoute(administration));
      host.contribute('command', 'models-list', listCommand(host.facts('command', 'models-list'), cache));
      host.contribute(
        'command',
        'models-config',
        configCommand(host.facts('command', 'models-config'), administration),
      );
      host.contribute(
        'command',
        'models-active-get',
        activeGetCommand(host.facts('command', 'models-active-get'), cache),
      );
      host.contribute(
        'command',
        'models-active-set',
        activeSetCommand(host.facts('command', 'models-active-set'), administration),
      );
      host.contribute(
        'command',
        'models-delete',
        deleteCommand(host.facts('command', 'models-delete'), administration),
      );
    },
  };
}
