import type { Command } from 'commander';
import type { CommandEnvironment } from './environment.js';
import { examples } from './examples.js';

export function addMigrateCommand(program: Command, environment: CommandEnvironment): void {
  program
    .command('migrate')
    .description('make or update the tables of every enabled plugin, without a port; safe to repeat')
    .addHelpText('after', examples('mortise migrate', 'DATABASE_URL=postgres://… mortise migrate --json'))
    .action(async () => {
      const { projectDir, signal, json } = environment;
      const { migrateOffline } = await import('../app/run-offline.js');
      const { plugins, applied } = await migrateOffline({ projectDir, signal, quiet: json });
      const text =
        applied.length === 0
          ? `The tables of ${plugins.join(', ') || 'all plugins'} are up to date.`
          : ['Applied:', ...applied.map((name) => `  ${name}`)].join('\n');
      environment.print(text, { plugins, applied });
    });
}
