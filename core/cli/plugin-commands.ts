import type { Command } from 'commander';
import type { DesiredExport, LoadTreeNode, PluginDetail, PluginRow } from '../sdk/host/plugin-control.js';
import { CommandError } from './command-error.js';
import { addDoctorCommand } from './doctor-command.js';
import type { CommandEnvironment } from './environment.js';
import { examples } from './examples.js';
import { addPlanCommand } from './plan-command.js';
import { printAnswer } from './print-answer.js';
import { shownState, showPlugin, showTree } from './show-plugin.js';
import { table } from './table.js';
import { addToggleCommands } from './toggle-commands.js';

interface Listing {
  readonly revision: number;
  readonly plugins: readonly PluginRow[];
}

/** `mortise plugin …`: the running server's admin API, or the files when there is no server. */
export function addPluginCommands(program: Command, environment: CommandEnvironment): void {
  const plugin = program
    .command('plugin')
    .description('list, inspect and toggle plugins')
    .addHelpText('after', examples('mortise plugin list', 'mortise plugin doctor', 'mortise plugin enable --help'));
  const { either } = environment;
  plugin.hook('preAction', (_program, { args }) => {
    if (args.includes(''))
      throw new CommandError('The key of a plugin is empty.', 'mortise plugin list shows the keys.');
  });

  plugin
    .command('list')
    .description('every plugin with its state')
    .addHelpText('after', examples('mortise plugin list', 'mortise plugin list --json'))
    .action(async () => {
      const listing = await either<Listing>(
        (server) => server.request('GET', '/admin/plugins'),
        ({ control }) => ({ revision: control.revision(), plugins: control.list() }),
      );
      const offline = (await environment.silentServer()) !== undefined;
      const rows = listing.plugins.map((row) => [
        row.key,
        row.desired,
        shownState(row, offline),
        row.required ? 'yes' : '',
        row.message ?? '',
      ]);
      await printAnswer(environment, table(['PLUGIN', 'DESIRED', 'STATE', 'REQUIRED', 'WHY'], rows), listing);
    });

  plugin
    .command('inspect <key>')
    .description('one plugin in full: manifest, configuration, calls, health, history')
    .addHelpText('after', examples('mortise plugin inspect mcp-server', 'mortise plugin inspect sessions --json'))
    .action(async (key: string) => {
      const detail = await either<PluginDetail>(
        (server) => server.request('GET', `/admin/plugins/${encodeURIComponent(key)}`),
        ({ control }) => control.inspect(key),
      );
      const offline = (await environment.silentServer()) !== undefined;
      await printAnswer(environment, showPlugin(detail, offline), detail);
    });

  addToggleCommands(plugin, environment);
  addPlanCommand(plugin, environment);
  addDoctorCommand(plugin, environment);

  plugin
    .command('tree')
    .description('load tree with times in milliseconds')
    .addHelpText('after', examples('mortise plugin tree'))
    .action(async () => {
      const answer = await either<{ readonly tree: readonly LoadTreeNode[] }>(
        (server) => server.request('GET', '/admin/tree'),
        ({ control }) => ({ tree: control.tree() }),
      );
      await printAnswer(environment, showTree(answer.tree).join('\n'), answer);
    });

  plugin
    .command('export')
    .description('write the plugins that replicas share in their database back to plugins.json')
    .addHelpText('after', examples('mortise plugin export'))
    .action(async () => {
      const written = await either<DesiredExport>(
        (server) => server.request('POST', '/admin/plugins/export', {}),
        ({ control }) => control.export(),
      );
      const { file, revision, changed } = written;
      environment.print(
        `${file} ${changed ? 'now holds' : 'already holds'} what should run (revision ${revision}).`,
        written,
      );
    });
}
