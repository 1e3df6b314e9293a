import type { Command } from 'commander';
import type { PluginChange, PluginPlan } from '../sdk/host/plugin-control.js';
import { oneLine } from '../sdk/one-line.js';
import { CommandError } from './command-error.js';
import type { CommandEnvironment } from './environment.js';
import { examples } from './examples.js';
import { printAnswer } from './print-answer.js';

export function addPlanCommand(plugin: Command, environment: CommandEnvironment): void {
  plugin
    .command('plan <change...>')
    .description('what changes would start, stop and open: +key enables, -key disables')
    .addHelpText(
      'after',
      examples('mortise plugin plan +tool-echo -mcp-server', 'mortise plugin plan -- -memory-gateway'),
    )
    // A change that begins with a dash is no option.
    .allowUnknownOption()
    .action((changes: readonly string[]) => showPlan(environment, changes.map(parseChange)));
}

/** Prints what changes would do. Nothing is changed. */
export async function showPlan(environment: CommandEnvironment, changes: readonly PluginChange[]): Promise<void> {
  const plan = await environment.either<PluginPlan>(
    (server) => server.request('POST', '/admin/plugins/plan', { changes }),
    ({ control }) => control.plan(changes),
  );
  const lines = [
    `starts:  ${plan.starts.join(', ') || '-'}`,
    `stops:   ${plan.stops.join(', ') || '-'}`,
    `drains:  ${plan.drains.map(({ key, inFlight }) => `${key} (${inFlight} calls)`).join(', ') || '-'}`,
    `blocked: ${plan.blocked.map(({ key, message }) => oneLine(`${key}: ${message}`)).join('\n         ') || '-'}`,
    ...(plan.inert.length === 0
      ? []
      : [
          `inert:   ${plan.inert.map(({ key, point, owner }) => `${key}: ${point} (${owner} is disabled)`).join('\n         ')}`,
        ]),
    `opens:   ${plan.wider.map(oneLine).join('\n         ') || '-'}`,
  ];
  await printAnswer(environment, lines.join('\n'), plan);
}

function parseChange(text: string): PluginChange {
  const sign = text[0];
  if ((sign !== '+' && sign !== '-') || !/^[a-z]/.test(text.slice(1))) {
    throw new CommandError(`"${text}" is no change.`, 'Write +key to enable a plugin and -key to disable one.');
  }
  return { key: text.slice(1), enabled: sign === '+' };
}
