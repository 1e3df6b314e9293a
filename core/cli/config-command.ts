import type { Command } from 'commander';
import type { EffectiveValue } from '../sdk/host/settings.js';
import type { CommandEnvironment } from './environment.js';
import { examples } from './examples.js';
import { table } from './table.js';

export function addConfigCommand(program: Command, environment: CommandEnvironment): void {
  program
    .command('config [owner]')
    .description('every effective value and where it comes from; secrets are masked')
    .addHelpText('after', examples('mortise config', 'mortise config host --json', 'mortise config mcp-server'))
    .action(async (owner: string | undefined) => {
      const server = await environment.server();
      const query = owner ? `?owner=${encodeURIComponent(owner)}` : '';
      const values = server
        ? (await server.request<{ values: readonly EffectiveValue[] }>('GET', `/admin/config${query}`)).values
        : await (await import('../app/offline-config.js')).readConfig(environment.projectDir, owner);
      const rows = values.map((value) => [
        value.name,
        JSON.stringify(value.value) ?? '',
        value.origin ? `${value.source} ${value.origin}` : value.source,
      ]);
      environment.print(table(['NAME', 'VALUE', 'FROM'], rows), { values });
    });
}
