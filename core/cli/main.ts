import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { serverAddress } from '../app/server-address.js';
import { endProcess } from '../process/exit.js';
import { addCompletionCommand } from './completion-command.js';
import { addConfigCommands } from './config-commands.js';
import { addContributedCommands } from './contributed-commands.js';
import { createEnvironment } from './environment.js';
import { exitCodes, reportError } from './exit.js';
import { addGlobalOptions, type GlobalOptions, preferOwnOptions } from './global-options.js';
import { addMigrateCommand, addStartCommands, addStatusCommand } from './host-commands.js';
import { examples, LocalError } from './output.js';
import { addPluginCommands } from './plugin-commands.js';
import { localeOf, speak, translated, translatedTitle } from './translated.js';

const projectDir = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

function versionOf(folder: string): string {
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
}

const configured = serverAddress(projectDir);
const locale =
  localeOf(givenLocale(process.argv)) ?? localeOf(process.env.MORTISE_LOCALE) ?? (await configured).locale ?? 'en-US';
speak(locale);

/** The help is made before the options are read, in the language that they name. */
function givenLocale(args: readonly string[]): string | undefined {
  const at = args.findLastIndex((word) => word === '--locale' || word.startsWith('--locale='));
  return at < 0 ? undefined : (args[at]?.split('=', 2)[1] ?? args[at + 1]);
}

const program = addGlobalOptions(
  new Command('mortise')
    .description(translated('Runs and manages Mortise.'))
    .version(versionOf(projectDir), '--version', translated('print the version'))
    .helpOption('-h, --help', translated('display help for command')),
)
  .exitOverride()
  .configureHelp({ minWidthToWrap: 20, styleTitle: (title) => translatedTitle(title) })
  // An error is written once the command has failed; with --json it is one object, without the help either.
  .configureOutput({
    outputError: () => undefined,
    writeErr: (text) => void (process.argv.includes('--json') || process.stderr.write(text)),
  })
  .addHelpText(
    'after',
    examples(
      'mortise start                           start the server (npm start does the same)',
      'mortise plugin list                     every plugin with its state',
      'mortise plugin enable tool-echo         enable a plugin without a restart',
      'mortise plugin doctor --json            findings, for a script',
      'mortise config mcp-server               effective values and where they come from',
    ),
  );

let exitCode: number = exitCodes.done;
const interrupt = new AbortController();
/** What is known of the options before every command is. */
let guessed: GlobalOptions | undefined;
const environment = createEnvironment({
  projectDir,
  configured,
  locale,
  signal: interrupt.signal,
  options: () => guessed ?? program.opts(),
  exitWith: (code) => {
    exitCode = code;
  },
});
/** How long a command that was asked to end may still take, milliseconds. */
const lastWordAfterMs = 10_000;

/** Whatever hangs, the second time ends it, and so does some time after the first. */
function stop(cause: string): void {
  const hangs = interrupt.signal.aborted;
  setTimeout(() => void endProcess(exitCodes.interrupted), hangs ? 0 : lastWordAfterMs).unref();
  if (!hangs) interrupt.abort(new Error(cause));
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop(signal));
// The launcher was killed: the answer has no reader.
process.on('disconnect', () => stop('disconnect'));
process.channel?.unref();

const isJson = (): boolean => environment.json || process.argv.includes('--json');
let isOutputLost = false;

/** A reader such as `head` may close the pipe early; the command has nothing left to do then. */
function endWithoutOutput({ code = 'error' }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') process.exit(exitCode);
  // Each write to a full disk fails anew.
  if (isOutputLost) return;
  isOutputLost = true;
  const sentence = translated('The output cannot be written ({code}).', { code });
  const hint = translated('Write it to another place, or free space on the disk.');
  const lost = new LocalError('output_lost', sentence, { hint, details: { code } });
  reportError(lost, isJson(), (text) => process.stderr.write(text, () => process.exit(exitCodes.refused)));
}
process.stdout.on('error', endWithoutOutput);
process.stderr.on('error', ({ code }: NodeJS.ErrnoException) =>
  process.exit(code === 'EPIPE' ? exitCode : exitCodes.refused),
);

addPluginCommands(program, environment);
addConfigCommands(program, environment);
addStatusCommand(program, environment);
addMigrateCommand(program, environment);
addCompletionCommand(program, environment);
addStartCommands(program);

/** `--json` before a document is short for `--json --body`. */
const typed = process.argv.flatMap((word, index, all) =>
  all[index - 1] === '--json' && /^[{[@]/.test(word) ? ['--body', word] : [word],
);

const words = typed.slice(2);

/**
 * Reading what plugins add takes a moment, which the platform's own commands need not wait for. Whether a key behind the
 * name of a command is the server's is only known afterwards: one of the environment is tried first.
 *
 * @returns the words that are no options
 */
async function addCommandsOfPlugins(): Promise<readonly string[]> {
  const anywhere = addGlobalOptions(new Command().copyInheritedSettings(program));
  const { operands } = anywhere.parseOptions(words);
  const [first] = operands;
  const isOwn = program.commands.some((command) => command.name() === first);
  // Only the completion of a shell knows every command.
  if (isOwn && first !== 'completion') return operands;
  const leading = addGlobalOptions(new Command().copyInheritedSettings(program)).passThroughOptions();
  leading.parseOptions(words);
  const all = anywhere.opts<GlobalOptions>();
  const apiKey = leading.opts<GlobalOptions>().apiKey ?? process.env.MORTISE_API_KEY ?? all.apiKey;
  guessed = { ...all, ...(apiKey === undefined ? {} : { apiKey }) };
  const added = addContributedCommands(program, environment);
  // Help is what people ask for when something does not work.
  await (first === undefined || first === 'help' ? added.catch(() => undefined) : added).finally(() => {
    guessed = undefined;
  });
  preferOwnOptions(program, operands);
  return operands;
}

const helpFlags = ['-h', '--help'];

/** Whether a word is in the place of a command and is none. Asked for its help, the parser would print that of the group. */
function namesUnknownCommand(operands: readonly string[]): boolean {
  let group: Command = program;
  for (const word of operands) {
    if (word === 'help' || group.commands.length === 0 || group.registeredArguments.length > 0) return false;
    const named = group.commands.find((command) => command.name() === word || command.aliases().includes(word));
    if (named === undefined) return true;
    group = named;
  }
  return false;
}

try {
  const operands = await addCommandsOfPlugins();
  await program.parseAsync(namesUnknownCommand(operands) ? typed.filter((word) => !helpFlags.includes(word)) : typed);
} catch (error) {
  exitCode = interrupt.signal.aborted
    ? exitCodes.interrupted
    : reportError(error, isJson(), (text) => process.stderr.write(text));
}
process.exitCode = exitCode;
