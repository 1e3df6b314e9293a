import type { Command } from 'commander';
import { MortiseError } from '../sdk/errors.js';
import type { CommandFacts, CommandInput, CommandResult } from '../sdk/points/command.js';
import { noServer } from './command-error.js';
import type { CommandEnvironment } from './environment.js';
import { examples } from './examples.js';

interface ContributedCommand extends CommandFacts {
  readonly key: string;
  readonly plugin: string;
}

/**
 * Adds the commands of plugins. With a server they run inside it; without one only those that say `offline`, whose
 * plugin is then booted without a port. Words that the platform has itself stay the platform's.
 */
export async function addContributedCommands(program: Command, environment: CommandEnvironment): Promise<void> {
  const { commands } = await environment.either<{ readonly commands: readonly ContributedCommand[] }>(
    (server) => server.request('GET', '/admin/commands'),
    ({ points }) => ({
      commands: points.list('command').map(({ key, plugin, facts }) => ({ key, plugin, ...facts })),
    }),
  );
  const own = new Set(program.commands.map((one) => one.name()));
  for (const one of commands) {
    for (const words of [one.usage, ...(one.aliases ?? [])].map(leadingWords)) {
      if (words.length === 0 || own.has(words[0] ?? '')) continue;
      addCommand(program, words, one, environment);
    }
  }
}

/** `memory export --space <space>` is called by `memory export`; the rest of a usage is for people. */
function leadingWords(usage: string): readonly string[] {
  const parts = usage.trim().split(/\s+/);
  const end = parts.findIndex((part) => !/^[a-z0-9][a-z0-9_-]*$/i.test(part));
  return end < 0 ? parts : parts.slice(0, end);
}

function addCommand(
  program: Command,
  words: readonly string[],
  one: ContributedCommand,
  environment: CommandEnvironment,
) {
  let parent = program;
  for (const word of words.slice(0, -1)) {
    const known = parent.commands.find((command) => command.name() === word);
    parent = known ?? parent.command(word).description(`commands of ${one.plugin}`);
  }
  const last = words.at(-1) ?? one.key;
  if (parent.commands.some((command) => command.name() === last)) return;
  const command = parent.command(last).description(one.summary);
  const rest = one.usage.trim().split(/\s+/).slice(leadingWords(one.usage).length);
  // Without a placeholder in its usage it takes no arguments, and a word too many is a mistake.
  if (rest.some((part) => /^[<[](?!options)/.test(part))) command.argument('[args...]');
  if (rest.length > 0) command.usage(rest.join(' '));
  for (const { flags, summary } of one.options ?? []) command.option(flags, summary);
  if (one.examples && one.examples.length > 0) command.addHelpText('after', examples(...one.examples));
  command.action(async () => {
    const { args } = command;
    const options: CommandInput['options'] = command.opts();
    const result = await run(environment, one, { args, options, json: environment.json });
    environment.print(result.text, result.data);
    if (result.detail) process.stderr.write(`${result.detail}\n`);
    environment.exitWith(result.exitCode);
  });
}

async function run(
  environment: CommandEnvironment,
  one: ContributedCommand,
  input: CommandInput,
): Promise<CommandResult> {
  const server = await environment.server();
  if (server) return server.request<CommandResult>('POST', `/admin/commands/${encodeURIComponent(one.key)}`, input);
  if (!one.offline) throw noServer();
  const { projectDir, signal, json } = environment;
  const { runCommandOffline } = await import('../app/run-offline.js');
  try {
    return await runCommandOffline(one.key, input, { projectDir, signal, quiet: json });
  } catch (error) {
    if (signal.aborted) throw new MortiseError('interrupted', 'It was interrupted.');
    throw error;
  }
}
