import type { Command } from 'commander';
import type { DesiredExport, LoadTreeNode, PluginDetail, PluginRow } from '../sdk/host/plugin-control.js';
import { oneLine } from '../sdk/text.js';
import { addDoctorCommand } from './doctor-command.js';
import { type CommandEnvironment, printAnswer } from './environment.js';
import { CommandError, examples, table } from './output.js';
import { addPlanCommand, addToggleCommands } from './toggle-commands.js';

/** The state of a plugin; without a server, its desired state. */
function shownState({ desired, state }: PluginRow, offline: boolean): string {
  return offline && state === 'disabled' ? `${desired}, offline` : state;
}

/** All details of one plugin, as text. */
function showPlugin(detail: PluginDetail, offline: boolean, columns: number | undefined): string {
  const lines = [
    `${detail.key} ${detail.version}: ${detail.title}`,
    detail.manifest?.summary ?? '',
    '',
    `state        ${shownState(detail, offline)} since ${detail.since} (desired: ${detail.desired}${detail.required ? ', required' : ''})`,
  ];
  if (detail.message) lines.push(`why          ${detail.message}`, `next         ${detail.hint ?? '-'}`);
  for (const { node, state, at } of detail.replicas ?? []) lines.push(`replica      ${node} ${state} since ${at}`);
  const { health, load_times_ms: times, last_fault: fault } = detail;
  lines.push(
    `requires     ${detail.requires.join(', ') || '-'}`,
    `needed by    ${detail.dependants.join(', ') || '-'}`,
    `health       ${health ? `${health.ok ? 'ok' : 'not ok'}${health.detail ? `: ${health.detail}` : ''}` : '-'}`,
    `load times   import ${ms(times.import)}, register ${ms(times.register)}, start ${ms(times.start)}`,
    `last fault   ${fault ? `${fault.at} ${fault.message}` : '-'}`,
  );
  const text = lines.map(oneLine);
  if (detail.contributions.length > 0) {
    const rows = detail.contributions.map((one) => [
      one.point,
      one.key,
      String(one.calls),
      String(one.errors),
      String(one.in_flight),
      ms(one.p50_ms),
      ms(one.p95_ms),
    ]);
    text.push('', table(['POINT', 'KEY', 'CALLS', 'ERRORS', 'IN FLIGHT', 'P50', 'P95'], rows, columns, [0, 1]));
  }
  if (detail.config.length > 0) {
    const rows = detail.config.map((one) => [one.name, JSON.stringify(one.value) ?? '', one.origin ?? one.source]);
    text.push('', table(['CONFIG', 'VALUE', 'FROM'], rows, columns));
  }
  return text.join('\n');
}

/** The load tree with times: dependants are above the plugins they need. */
function showTree(nodes: readonly LoadTreeNode[], indent = ''): readonly string[] {
  return nodes.flatMap((node) => [
    `${indent}${node.key} (${node.state}) import ${ms(node.ms.import)}, register ${ms(node.ms.register)}, start ${ms(node.ms.start)}`,
    ...showTree(node.requires, `${indent}  `),
  ]);
}

function ms(value: number | null): string {
  return value === null ? '-' : `${Math.round(value * 100) / 100} ms`;
}

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
    .description('list every plugin with its state')
    .addHelpText('after', examples('mortise plugin list', 'mortise plugin list --json'))
    .action(async () => {
      const listing = await either<Listing>(
        (server) => server.request('GET', '/admin/plugins'),
        ({ control }) => ({ revision: control.revision(), plugins: control.list() }),
      );
      const offline = (await environment.silentServer()) !== undefined;
      const rows = listing.plugins.map((row) => [
        row.key,
        row.title,
        row.version,
        row.desired,
        shownState(row, offline),
        row.required ? 'yes' : '',
        row.message ?? '',
      ]);
      const head = ['PLUGIN', 'TITLE', 'VERSION', 'DESIRED', 'STATE', 'REQUIRED', 'WHY'];
      await printAnswer(environment, table(head, rows, environment.process.stdout.columns), listing);
    });

  plugin
    .command('inspect <key>')
    .description('show one plugin: manifest, configuration, calls, health, history')
    .addHelpText('after', examples('mortise plugin inspect mcp-server', 'mortise plugin inspect sessions --json'))
    .action(async (key: string) => {
      const detail = await either<PluginDetail>(
        (server) => server.request('GET', `/admin/plugins/${encodeURIComponent(key)}`),
        ({ control }) => control.inspect(key),
      );
      const offline = (await environment.silentServer()) !== undefined;
      await printAnswer(environment, showPlugin(detail, offline, environment.process.stdout.columns), detail);
    });

  addToggleCommands(plugin, environment);
  addPlanCommand(plugin, environment);
  addDoctorCommand(plugin, environment);

  plugin
    .command('tree')
    .description('show the load tree with times in milliseconds')
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
        `${file} ${changed ? 'now contains' : 'already contains'} the desired state (revision ${revision}).`,
        written,
      );
    });
}
