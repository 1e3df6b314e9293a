import type { Command } from 'commander';
import type { PluginRow } from '../sdk/host/plugin-control.js';
import type { CommandEnvironment } from './environment.js';
import { examples } from './examples.js';
import { showPlan } from './plan-command.js';
import { printAnswer } from './print-answer.js';
import { switchPlugin } from './switch-plugin.js';

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
    .description('stop a plugin now and leave it out from now on; its data stay')
    .option('--cascade', 'also disable the plugins that need it')
    .option('--dry-run', 'only show what would happen')
    .addHelpText(
      'after',
      examples('mortise plugin disable tool-echo', 'mortise plugin disable memory-gateway --cascade --dry-run'),
    )
    .action((key: string, flags: ToggleFlags) => toggle(environment, key, false, flags));

  plugin
    .command('restart <key>')
    .description('stop and start a plugin and those that need it')
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
  const said = waits ? 'is enabled and starts with the server' : `is ${row.state}`;
  await printAnswer(environment, `${row.key} ${said}.`, row);
}

async function operate(environment: CommandEnvironment, key: string, action: 'restart' | 'release'): Promise<void> {
  const server = await environment.needServer();
  const row = await server.request<PluginRow>('POST', path(key, action), {});
  environment.print(`${row.key} is ${row.state}.`, row);
}

function path(key: string, action: string): string {
  return `/admin/plugins/${encodeURIComponent(key)}/${action}`;
}
