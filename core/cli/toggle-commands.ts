import type { Command } from 'commander';
import type { PluginChange, PluginPlan, PluginRow } from '../sdk/host/plugin-control.js';
import { oneLine } from '../sdk/text.js';
import { changeAndRecord } from './change-and-record.js';
import { type CommandEnvironment, printAnswer } from './environment.js';
import { CommandError, examples } from './output.js';

export function addPlanCommand(plugin: Command, environment: CommandEnvironment): void {
  plugin
    .command('plan <change...>')
    .description('show what changes would start, stop and open: +key enables, -key disables')
    .addHelpText(
      'after',
      examples('mortise plugin plan +tool-echo -mcp-server', 'mortise plugin plan -- -memory-gateway'),
    )
    // A change that begins with a dash is not an option.
    .allowUnknownOption()
    .action((changes: readonly string[]) => showPlan(environment, changes.map(parseChange)));
}

/** Prints the effect of changes without applying them. */
async function showPlan(environment: CommandEnvironment, changes: readonly PluginChange[]): Promise<void> {
  const plan = await environment.either<PluginPlan>(
    (server) => server.request('POST', '/admin/plugins/plan', { changes }),
    ({ control }) => control.plan(changes),
  );
  const lines = [
    `starts:  ${plan.starts.join(', ') || '-'}`,
    `stops:   ${plan.stops.join(', ') || '-'}`,
    `drains:  ${plan.drains.map(({ key, inFlight }) => `${key} (${inFlight} calls)`).join(', ') || '-'}`,
    `blocked: ${plan.blocked.map(({ key, message }) => oneLine(`${key}: ${message}`)).join('\n         ') || '-'}`,
    `opens:   ${plan.wider.map(oneLine).join('\n         ') || '-'}`,
  ];
  await printAnswer(environment, lines.join('\n'), plan);
}

function parseChange(text: string): PluginChange {
  const sign = text[0];
  if ((sign !== '+' && sign !== '-') || !/^[a-z]/.test(text.slice(1))) {
    throw new CommandError(`"${text}" is not a change.`, 'Write +key to enable a plugin and -key to disable one.');
  }
  return { key: text.slice(1), enabled: sign === '+' };
}

/** Enables or disables a plugin, in the running server or in the desired state for the next start. */
export function switchPlugin(
  environment: CommandEnvironment,
  key: string,
  enabled: boolean,
  cascade = false,
): Promise<PluginRow> {
  const operation = enabled ? 'enable' : 'disable';
  return changeAndRecord(environment, operation, key, {
    online: (server) => server.request('POST', `/admin/plugins/${encodeURIComponent(key)}/${operation}`, { cascade }),
    offline: (engine) => engine.want(key, enabled, cascade),
  });
}

interface ToggleFlags {
  readonly cascade?: boolean;
  readonly dryRun?: boolean;
}

/** `enable`, `disable`, `restart` and `release`. */
export function addToggleCommands(plugin: Command, environment: CommandEnvironment): void {
  plugin
    .command('enable <key>')
    .description('start a plugin now and at every start')
    .option('--dry-run', 'only show what would happen')
    .addHelpText('after', examples('mortise plugin enable tool-echo', 'mortise plugin enable mcp-server --dry-run'))
    .action((key: string, flags: ToggleFlags) => toggle(environment, key, true, flags));

  plugin
    .command('disable <key>')
    .description('stop a plugin now and keep it disabled; its data is kept')
    .option('--cascade', 'also disable the plugins that need it')
    .option('--dry-run', 'only show what would happen')
    .addHelpText(
      'after',
      examples('mortise plugin disable tool-echo', 'mortise plugin disable memory-gateway --cascade --dry-run'),
    )
    .action((key: string, flags: ToggleFlags) => toggle(environment, key, false, flags));

  plugin
    .command('restart <key>')
    .description('restart a plugin and its dependants')
    .addHelpText('after', examples('mortise plugin restart mcp-server'))
    .action((key: string) => operate(environment, key, 'restart'));

  plugin
    .command('release <key>')
    .description('end a quarantine and start the plugin again')
    .addHelpText('after', examples('mortise plugin release tool-echo'))
    .action((key: string) => operate(environment, key, 'release'));
}

async function toggle(
  environment: CommandEnvironment,
  key: string,
  enabled: boolean,
  flags: ToggleFlags,
): Promise<void> {
  const cascade = flags.cascade === true;
  if (flags.dryRun) return showPlan(environment, [{ key, enabled }]);
  const row = await switchPlugin(environment, key, enabled, cascade);
  const waits = row.desired === 'enabled' && row.state === 'disabled' && (await environment.silentServer());
  const state = waits ? 'is enabled and starts with the server' : `is ${row.state}`;
  await printAnswer(environment, `${row.key} ${state}.`, row);
}

async function operate(environment: CommandEnvironment, key: string, action: 'restart' | 'release'): Promise<void> {
  const server = await environment.needServer();
  const row = await server.request<PluginRow>('POST', path(key, action), {});
  environment.print(`${row.key} is ${row.state}.`, row);
}

function path(key: string, action: string): string {
  return `/admin/plugins/${encodeURIComponent(key)}/${action}`;
}
