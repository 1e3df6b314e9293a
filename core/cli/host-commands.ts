import type { Command } from 'commander';
import type { CommandEnvironment } from './environment.js';
import { exitCodes } from './exit.js';
import { CommandError, examples } from './output.js';
import { translated } from './translated.js';

interface Readiness {
  readonly ready: boolean;
  readonly waiting?: readonly { readonly key: string; readonly state: string; readonly code: string | null }[];
}

export function addStatusCommand(program: Command, environment: CommandEnvironment): void {
  program
    .command('status')
    .description('show whether the server is running and ready; exit 1 when it is not ready, 3 without a server')
    .addHelpText('after', examples('mortise status', 'mortise status --json'))
    .action(async () => {
      const server = await environment.needServer();
      const { version } = await server.request<{ version: string }>('GET', '/version');
      const { ready, waiting = [] } = (await server.ask('GET', '/ready')).body as Readiness;
      const lines = [
        ready
          ? translated('Mortise {version} is ready.', { version })
          : translated('Mortise {version} is running but not ready yet.', { version }),
        ...waiting.map(({ key, state, code }) => `  ${key} is ${state}${code ? ` (${code})` : ''}`),
      ];
      environment.print(lines.join('\n'), { version, ready, waiting });
      if (!ready) environment.exitWith(exitCodes.refused);
    });
}

/** The help of `start` and `app start`, which the launcher runs. */
export function addStartCommands(program: Command): void {
  const app = program.command('app').description('run the server');
  for (const [parent, words] of [
    [program, 'mortise start'],
    [app, 'mortise app start'],
  ] as const) {
    parent
      .command('start')
      .description('start the server, unless one already answers at its address; Ctrl-C drains it')
      .option('--port <n>', 'port (MORTISE_PORT)')
      .option('--host <address>', 'address to listen on (MORTISE_HOST)')
      .option('--data-dir <dir>', 'folder of the data (MORTISE_DATA_DIR)')
      .option('--safe', 'start required plugins only')
      .addHelpText('after', examples(words, `${words} --port 9000`))
      .allowUnknownOption()
      .allowExcessArguments()
      .action(() => {
        throw new CommandError(
          'The command line does not start the server automatically.',
          'Run npm start, or npx mortise start.',
        );
      });
  }
  app.addHelpText('after', examples('mortise app start'));
}

export function addMigrateCommand(program: Command, environment: CommandEnvironment): void {
  program
    .command('migrate')
    .description('create or update the tables of every enabled plugin, without a port; safe to repeat')
    .addHelpText('after', examples('mortise migrate', 'DATABASE_URL=postgres://… mortise migrate --json'))
    .action(async () => {
      const { migrateOffline } = await import('../app/run-offline.js');
      const { plugins, applied } = await migrateOffline(environment.offline(environment.json));
      const text =
        applied.length === 0
          ? `The tables of ${plugins.join(', ') || 'all plugins'} are up to date.`
          : ['Applied:', ...applied.map((name) => `  ${name}`)].join('\n');
      environment.print(text, { plugins, applied });
    });
}
