import type { Command } from 'commander';
import type { EffectiveValue } from '../sdk/host/settings.js';
import type { CommandEnvironment } from './main.js';
import { openOffline } from './offline-control.js';
import { table } from './table.js';

export function addConfigCommand(program: Command, environment: CommandEnvironment): void {
  program
    .command('config [owner]')
    .description('every effective value and where it comes from; secrets are masked')
    .addHelpText('after', '\nExamples:\n  mortise config\n  mortise config host --json')
    .action(async (owner: string | undefined) => {
      const values = await read(environment, owner);
      const rows = values.map((value) => [
        value.name,
        JSON.stringify(value.value) ?? '',
        value.origin ? `${value.source} ${value.origin}` : value.source,
      ]);
      environment.print(table(['NAME', 'VALUE', 'FROM'], rows), { values });
    });
}

async function read(environment: CommandEnvironment, owner: string | undefined): Promise<readonly EffectiveValue[]> {
  const client = environment.client();
  if (await client.alive()) {
    const answer = await client.request('GET', `/admin/config${owner ? `?owner=${encodeURIComponent(owner)}` : ''}`);
    return (answer as { values: readonly EffectiveValue[] }).values;
  }
  const offline = await openOffline(environment.projectDir);
  try {
    return offline.settings.effective(owner);
  } finally {
    await offline.dispose();
  }
}
