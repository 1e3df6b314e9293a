import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { serverAddress } from '../app/project-files.js';
import type { CallingProcess } from './calling-process.js';
import { addCompletionCommand } from './completion-command.js';
import { addConfigCommands } from './config-commands.js';
import { addContributedCommands } from './contributed-commands.js';
import { createEnvironment } from './environment.js';
import { exitCodes, reportError } from './exit.js';
import { addGlobalOptions, type GlobalOptions, preferOwnOptions } from './global-options.js';
import { addMigrateCommand, addStartCommands, addStatusCommand } from './host-commands.js';
import { examples } from './output.js';
import { addPluginCommands } from './plugin-commands.js';
import { localeOf, speak, translated, translatedTitle } from './translated.js';

const projectDir = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const helpFlags = ['-h', '--help'];

/** Runs one command. Its error is written to stderr and sets the exit code. */
export async function runCommandLine(process: CallingProcess): Promise<void> {
  const { env, cwd, stderr, signal } = process;
  const source = { projectDir, env, cwd };
  const configured = serverAddress(source);
  const locale =
    localeOf(givenLocale(process.args)) ?? localeOf(env.MORTISE_LOCALE) ?? (await configured).locale ?? 'en-US';
  speak(locale);

  const program = createProgram(process);
  /** The options parsed before all commands are known. */
  let guessed: GlobalOptions | undefined;
  const environment = createEnvironment({
    process,
    source,
    configured,
    locale,
    options: () => guessed ?? program.opts(),
  });
  addPluginCommands(program, environment);
  addConfigCommands(program, environment);
  addStatusCommand(program, environment);
  addMigrateCommand(program, environment);
  addCompletionCommand(program, environment);
  addStartCommands(program);

  /** `--json` before a document is short for `--json --body`. */
  const words = process.args.flatMap((word, index, all) =>
    all[index - 1] === '--json' && /^[{[@]/.test(word) ? ['--body', word] : [word],
  );

  /**
   * Commands of the platform do not wait until the commands of plugins are read. Whether a key after the name
   * of a command is the server's is only known afterwards, so a key of the environment is tried first.
   *
   * @returns the words that are not options
   */
  async function addCommandsOfPlugins(): Promise<readonly string[]> {
    const anywhere = addGlobalOptions(new Command().copyInheritedSettings(program));
    const { operands } = anywhere.parseOptions(words);
    const [first] = operands;
    const isOwn = program.commands.some((command) => command.name() === first);
    // Only shell completion needs every command.
    if (isOwn && first !== 'completion') return operands;
    const leading = addGlobalOptions(new Command().copyInheritedSettings(program)).passThroughOptions();
    leading.parseOptions(words);
    const all = anywhere.opts<GlobalOptions>();
    const apiKey = leading.opts<GlobalOptions>().apiKey ?? env.MORTISE_API_KEY ?? all.apiKey;
    guessed = { ...all, ...(apiKey === undefined ? {} : { apiKey }) };
    const added = addContributedCommands(program, environment);
    // Help must work even if the commands of plugins cannot be read.
    await (first === undefined || first === 'help' ? added.catch(() => undefined) : added).finally(() => {
      guessed = undefined;
    });
    preferOwnOptions(program, operands);
    return operands;
  }

  try {
    const operands = await addCommandsOfPlugins();
    const typed = namesUnknownCommand(program, operands) ? words.filter((word) => !helpFlags.includes(word)) : words;
    await program.parseAsync(typed, { from: 'user' });
  } catch (error) {
    process.exitWith(
      signal.aborted
        ? exitCodes.interrupted
        : reportError(error, environment.json || isJson(process), (text) => stderr.write(text)),
    );
  }
}

/** Whether the arguments request errors as JSON. */
export function isJson({ args }: Pick<CallingProcess, 'args'>): boolean {
  return args.includes('--json');
}

function createProgram(process: CallingProcess): Command {
  const { stdout, stderr } = process;
  return (
    addGlobalOptions(
      new Command('mortise')
        .description(translated('Runs and manages Mortise.'))
        .version(versionOf(projectDir), '--version', translated('print the version'))
        .helpOption('-h, --help', translated('display help for command')),
    )
      .exitOverride()
      .configureHelp({ minWidthToWrap: 20, styleTitle: (title) => translatedTitle(title) })
      // An error is written once the command has failed; with --json only as one object, without the help.
      .configureOutput({
        outputError: () => undefined,
        writeOut: (text) => void stdout.write(text),
        writeErr: (text) => void (isJson(process) || stderr.write(text)),
        getOutHelpWidth: () => stdout.columns ?? defaultColumns,
        getErrHelpWidth: () => stderr.columns ?? defaultColumns,
      })
      .addHelpText(
        'after',
        examples(
          'mortise start                           start the server (npm start does the same)',
          'mortise plugin list                     list every plugin with its state',
          'mortise plugin enable tool-echo         enable a plugin without a restart',
          'mortise plugin doctor --json            print findings for a script',
          'mortise config mcp-server               show effective values and their origins',
        ),
      )
  );
}

/** Width of the help without a terminal. */
const defaultColumns = 80;

function versionOf(folder: string): string {
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
}

/** The language in the arguments, which is needed before the options are parsed, because the help is built first. */
function givenLocale(args: readonly string[]): string | undefined {
  const at = args.findLastIndex((word) => word === '--locale' || word.startsWith('--locale='));
  return at < 0 ? undefined : (args[at]?.split('=', 2)[1] ?? args[at + 1]);
}

/** Whether a command is unknown; with `--help` the parser would print the help of its group. */
function namesUnknownCommand(program: Command, operands: readonly string[]): boolean {
  let group = program;
  for (const word of operands) {
    if (word === 'help' || group.commands.length === 0 || group.registeredArguments.length > 0) return false;
    const named = group.commands.find((command) => command.name() === word || command.aliases().includes(word));
    if (named === undefined) return true;
    group = named;
  }
  return false;
}
