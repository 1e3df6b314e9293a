import type { Command } from 'commander';
import { MortiseError } from '../sdk/errors.js';
import type { PluginRow } from '../sdk/host/plugin-control.js';
import type { EffectiveValue } from '../sdk/host/settings.js';
import { type CommandEnvironment, printAnswer } from './environment.js';
import { exitCodes } from './exit.js';
import { examples, table } from './output.js';

export function addConfigCommand(program: Command, environment: CommandEnvironment): void {
  program
    .command('config [owner]')
    .description('every effective value and where it comes from; secrets are masked')
    .addHelpText('after', examples('mortise config', 'mortise config host --json', 'mortise config mcp-server'))
    .action(async (owner: string | undefined) => {
      const values = await readValues(environment, owner);
      if (owner !== undefined && values.length === 0) await assertOwner(environment, owner);
      const rows = values.map((value) => [
        value.name,
        JSON.stringify(value.value) ?? '',
        value.origin ? `${value.source} ${value.origin}` : value.source,
      ]);
      // What is read by another program is not cut: only a terminal has a width.
      await printAnswer(environment, table(['NAME', 'VALUE', 'FROM'], rows, process.stdout.columns), { values });
    });
}

async function readValues(
  environment: CommandEnvironment,
  owner: string | undefined,
): Promise<readonly EffectiveValue[]> {
  const server = await environment.server();
  if (!server) return (await import('../app/offline.js')).readConfig(environment.projectDir, owner);
  const query = owner ? `?owner=${encodeURIComponent(owner)}` : '';
  return (await server.request<{ values: readonly EffectiveValue[] }>('GET', `/admin/config${query}`)).values;
}

/** Nothing to show is an answer for a plugin that takes no configuration, and for no other name. */
async function assertOwner(environment: CommandEnvironment, owner: string): Promise<void> {
  const plugins = await environment.either(
    async (server) => (await server.request<{ plugins: readonly PluginRow[] }>('GET', '/admin/plugins')).plugins,
    (engine) => engine.control.list(),
  );
  const known = plugins.map(({ key }) => key).toSorted();
  if (known.includes(owner)) return;
  throw new MortiseError('owner_not_found', `"${owner}" has no configuration: it is neither "host" nor a plugin.`, {
    status: 404,
    details: { owner, known: ['host', ...known] },
    hint: `There are: ${['host', ...known].join(', ')}.`,
  });
}

interface Readiness {
  readonly ready: boolean;
  readonly waiting?: readonly { readonly key: string; readonly state: string; readonly code: string | null }[];
}

export function addStatusCommand(program: Command, environment: CommandEnvironment): void {
  program
    .command('status')
    .description('whether the server runs and is ready; exit 1 when it is not ready, 3 when there is none')
    .addHelpText('after', examples('mortise status', 'mortise status --json'))
    .action(async () => {
      const server = await environment.needServer();
      const { version } = await server.request<{ version: string }>('GET', '/version');
      const { ready, waiting = [] } = (await server.ask('GET', '/ready')).body as Readiness;
      const lines = [
        `Mortise ${version} is ${ready ? 'ready' : 'running and not ready yet'}.`,
        ...waiting.map(({ key, state, code }) => `  ${key} is ${state}${code ? ` (${code})` : ''}`),
      ];
      environment.print(lines.join('\n'), { version, ready, waiting });
      if (!ready) environment.exitWith(exitCodes.refused);
    });
}

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
