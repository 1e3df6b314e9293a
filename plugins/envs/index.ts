import type { PluginDefinition, Refusal } from 'mortise/sdk';
import { deleteCommand, listCommand, setCommand } from './commands.js';
import { openEnvs } from './env-store.js';
import { envTable } from './migrations/0001-envs.js';
import { deleteRoute, listRoute, replaceRoute } from './routes.js';

/** Variables that people store for tools, skills and model providers. */
export default function envsPlugin(): PluginDefinition {
  return {
    key: 'envs',
    async start(host) {
      const database = host.use('database');
      await database.migrate([envTable]);
      const envs = await openEnvs({ host, database, secrets: host.use('secrets'), audit: host.use('audit') });

      host.provide('envs', envs);
      const refused = (refusal: Refusal) => host.emit('refusal', refusal);
      host.contribute('route', 'list-envs', listRoute(envs, host.use('http'), refused));
      host.contribute('route', 'replace-envs', replaceRoute(envs));
      host.contribute('route', 'delete-env', deleteRoute(envs));
      host.contribute('command', 'env-list', listCommand(host.facts('command', 'env-list'), envs));
      host.contribute('command', 'env-set', setCommand(host.facts('command', 'env-set'), envs));
      host.contribute('command', 'env-delete', deleteCommand(host.facts('command', 'env-delete'), envs));
    },
  };
}
