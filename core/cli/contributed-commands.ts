import { isUtf8 } from 'node:buffer';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { buffer as readAll } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import type { Command } from 'commander';
import type { OfflineControl } from '../app/offline.js';
import { installedModule } from '../app/project-files.js';
import { MortiseError } from '../sdk/errors.js';
import { isJsonObject } from '../sdk/json.js';
import type { ClientCommand, CommandFacts, CommandInput, CommandResult } from '../sdk/points/command.js';
import { oneLine, printableText } from '../sdk/text.js';
import type { CallingProcess } from './calling-process.js';
import { checkInput, type NamedOption } from './check-input.js';
import { ApiError } from './client.js';
import type { CommandEnvironment } from './environment.js';
import { exitCodes } from './exit.js';
import { CommandError, examples, LocalError, noServer, table, UnfinishedRun } from './output.js';
import { createProgress, untilDone } from './progress.js';
import { styledText } from './styled-text.js';
import { translated } from './translated.js';

interface ContributedCommand extends CommandFacts {
  readonly key: string;
  readonly plugin: string;
}

/**
 * Adds the commands of plugins. With a server they run inside it; without one only those with `offline` run, and
 * their plugin is booted without a port. They cannot replace commands of the platform.
 */
export async function addContributedCommands(program: Command, environment: CommandEnvironment): Promise<void> {
  const commands = (await listCommands(environment)).commands.map(asText);
  const own = new Set(program.commands.map((one) => one.name()));
  for (const one of commands) {
    for (const words of [one.usage, ...(one.aliases ?? [])].map(leadingWords)) {
      if (words.length === 0 || own.has(words[0] ?? '')) continue;
      addCommand(program, words, one, environment);
    }
  }
  for (const group of program.commands) if (!own.has(group.name())) describeGroup(group);
}

/** A group without a command lists its commands. */
function describeGroup(group: Command): void {
  for (const one of group.commands) describeGroup(one);
  if (group.description() === '') group.description(group.commands.map((one) => one.name()).join(', '));
}

interface CommandList {
  readonly commands: readonly ContributedCommand[];
}

/** Errors of a server without a database or of a refused caller: the commands are then read from the files. */
const knownFromFiles = /^(database_|unauthorized$)/;

/**
 * An installation lists its commands even without its database; they then exit with their failure code. The same
 * applies without a key, so that wrong usage is reported before a missing right.
 */
async function listCommands(environment: CommandEnvironment): Promise<CommandList> {
  const listed = ({ points }: OfflineControl): CommandList => ({
    commands: points.list('command').map(({ key, plugin, facts }) => ({ key, plugin, ...facts })),
  });
  try {
    return await environment.either<CommandList>((server) => server.request('GET', '/admin/commands'), listed);
  } catch (error) {
    if (!(error instanceof MortiseError) || !knownFromFiles.test(error.code)) throw error;
    return environment.fromFiles(listed);
  }
}

/** A command's manifest entry, made safe for a terminal. */
function asText({ summary, usage, examples: typed, options, ...rest }: ContributedCommand): ContributedCommand {
  return {
    ...rest,
    summary: oneLine(summary),
    usage: oneLine(usage.replace(/\s+/g, ' ')),
    ...(typed ? { examples: typed.map(oneLine) } : {}),
    ...(options
      ? { options: options.map((one) => ({ ...one, flags: oneLine(one.flags), summary: oneLine(one.summary) })) }
      : {}),
  };
}

/** The words that call a command: `memory export` of `memory export --space <space>`. */
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
    parent = known ?? parent.command(word);
  }
  const last = words.at(-1) ?? one.key;
  if (parent.commands.some((command) => command.name() === last)) return;
  const command = parent.command(last).description(one.summary);
  const rest = one.usage.trim().split(/\s+/).slice(leadingWords(one.usage).length);
  // Without a placeholder in its usage it takes no arguments, and an extra word is an error.
  if (rest.some((part) => /^[<[](?!options)/.test(part))) command.argument('[args...]');
  if (rest.length > 0) command.usage(rest.join(' '));
  const files: string[] = [];
  const documents: string[] = [];
  const known: NamedOption[] = [];
  for (const { flags, summary, file, json, value } of one.options ?? []) {
    const option = command.createOption(flags, summary);
    command.addOption(option);
    if (file) files.push(option.attributeName());
    if (json) documents.push(option.attributeName());
    known.push({ name: option.attributeName(), long: option.long ?? flags, value });
  }
  if (one.examples && one.examples.length > 0) command.addHelpText('after', examples(...one.examples));
  command.action(async () => {
    const { args } = command;
    const own = ownValues(command, known);
    checkInput(one, { args, options: own }, known);
    const { process } = environment;
    const { env, cwd, stdout, stderr } = process;
    const options = await withDocuments(await withFiles(own, files, process), documents, process);
    const { columns = 80, isTTY } = stdout;
    const terminal = isTTY ? { terminal: { columns } } : {};
    const input = { args, options, json: environment.json, cwd, ...terminal };
    const result = await run(environment, one, input).catch((error: unknown) => {
      throw new UnfinishedRun(one.failureExit ?? exitCodes.refused, error);
    });
    if (result.exitCode === exitCodes.wrongUsage) throw misused(one, result);
    const rows = result.table && table(result.table.head, result.table.rows, stdout.columns, result.table.whole);
    const isStyled = result.spans !== undefined && isTTY && !environment.json && env.NO_COLOR === undefined;
    if (result.verbatim && !environment.json) stdout.write(isTTY ? printableText(result.text) : result.text);
    else if (isStyled) stdout.write(`${styledText(result.spans ?? [])}\n`);
    else
      environment.print(
        [...(rows ? [rows] : []), ...(rows && result.text === '' ? [] : [result.text])].join('\n'),
        result.data,
      );
    if (result.detail) stderr.write(`${printableText(result.detail)}\n`);
    environment.exitWith(result.exitCode);
  });
}

/** The values of the command's own options, without global ones. */
function ownValues(command: Command, known: readonly NamedOption[]): CommandInput['options'] {
  const own = new Set(known.map(({ name }) => name));
  return Object.fromEntries(Object.entries(command.opts()).filter(([name]) => own.has(name)));
}

/** Reads the files on the caller's machine, because the command may run on another one; `-` is standard input. */
async function withFiles(
  options: CommandInput['options'],
  names: readonly string[],
  process: CallingProcess,
): Promise<CommandInput['options']> {
  const texts: Record<string, string> = {};
  for (const name of names) {
    const path = options[name];
    if (typeof path === 'string') texts[name] = await readText(path, process);
  }
  return { ...options, ...texts };
}

/** The text of a file, or of standard input (`-`). Refuses other encodings, whose bytes would be replaced silently. */
async function readText(path: string, process: CallingProcess): Promise<string> {
  const named = path === '-' ? 'Standard input' : path;
  const bytes = await (path === '-' ? readAll(process.stdin) : readFile(path)).catch((error: { code?: unknown }) => {
    const why = error.code === 'ENOENT' ? 'there is no such file' : 'it cannot be read';
    throw new CommandError(`${named}: ${why}.`, 'Name a file that you may read.');
  });
  if (isUtf8(bytes)) return bytes.toString('utf8');
  throw new CommandError(`${named}: it is not a text in UTF-8.`, 'Convert it to UTF-8 first, for example with iconv.');
}

/** JSON from the command line, from `@file`, or from standard input (`-`). */
async function withDocuments(
  options: CommandInput['options'],
  names: readonly string[],
  process: CallingProcess,
): Promise<CommandInput['options']> {
  const texts: Record<string, string> = {};
  for (const name of names) {
    const given = options[name];
    if (typeof given !== 'string') continue;
    const path = given.startsWith('@') ? given.slice(1) : given === '-' ? given : undefined;
    const text = path === undefined ? given : await readText(path, process);
    try {
      JSON.parse(text);
    } catch (error) {
      const why = error instanceof SyntaxError ? error.message : 'it cannot be read';
      throw new CommandError(
        `The value of --${name} is not valid JSON: ${why}.`,
        'Pass JSON, @file, or - for standard input.',
      );
    }
    texts[name] = text;
  }
  return { ...options, ...texts };
}

/** Loads a command for this process, always from this installation, even if another server lists the command. */
async function clientCommand(
  { source }: CommandEnvironment,
  { plugin }: ContributedCommand,
  name: string,
): Promise<ClientCommand> {
  const path = await installedModule(source, plugin, name);
  if (path !== undefined && existsSync(path)) {
    const { default: command } = (await import(pathToFileURL(path).href)) as { readonly default?: unknown };
    if (typeof command === 'function') return command as ClientCommand;
  }
  throw new LocalError('not_installed', `The plugin ${plugin} with this command is not installed here.`, {
    hint: 'Install the version of the server, or run the command on its machine.',
  });
}

/** Converts an error of a command in this process, whose code is not a code of the API. */
function asLocal(error: unknown): unknown {
  if (error instanceof ApiError || error instanceof LocalError || !(error instanceof MortiseError)) return error;
  const { code, message, details, hint } = error;
  return new LocalError(code, message, { ...(details ? { details } : {}), ...(hint ? { hint } : {}) });
}

/** The error for a command's wrong usage. */
function misused({ usage }: CommandFacts, { data, text }: CommandResult): CommandError {
  const { error: _kind, usage: _usage, reason, message, ...details } = isJsonObject(data) ? data : {};
  const given = [reason, message].find((one) => typeof one === 'string');
  const own = text === '' || text === `Usage: mortise ${usage}` ? undefined : text;
  const hint = translated('Usage: mortise {usage}; --help has examples.', { usage });
  return new CommandError(String(given ?? own ?? translated('The arguments are not complete.')), hint, details);
}

async function run(
  environment: CommandEnvironment,
  one: ContributedCommand,
  input: CommandInput,
): Promise<CommandResult> {
  if (one.client !== undefined) {
    const command = await clientCommand(environment, one, one.client);
    const caller = await environment.caller();
    return command(input, { ...caller, command: one }).catch((error: unknown) => {
      throw asLocal(error);
    });
  }
  const server = await environment.server();
  const progress = createProgress(environment.process.stderr, environment.json);
  const each = (result: CommandResult): void => {
    progress.show(result.again?.progress);
    if (result.text !== '' && !environment.json) environment.process.stdout.write(`${printableText(result.text)}\n`);
  };
  if (server) {
    const path = `/admin/commands/${encodeURIComponent(one.key)}`;
    const ask = (next: CommandInput) => server.request<CommandResult>('POST', path, next);
    return untilDone(ask, input, each, environment.process.signal).finally(progress.end);
  }
  if (!one.offline) throw noServer(await environment.silentServer());
  const { runCommandOffline } = await import('../app/run-offline.js');
  try {
    return await runCommandOffline(one.key, input, { ...environment.offline(environment.json), each });
  } catch (error) {
    if (environment.process.signal.aborted) throw new LocalError('interrupted', 'The command was interrupted.');
    throw error;
  } finally {
    progress.end();
  }
}
