import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { endProcess } from '../process/exit.js';
import { addCompletionCommand } from './completion-command.js';
import { addConfigCommands } from './config-commands.js';
import { addContributedCommands } from './contributed-commands.js';
import { createEnvironment } from './environment.js';
import { exitCodes, reportError } from './exit.js';
import { addMigrateCommand, addStartCommands, addStatusCommand } from './host-commands.js';
import { examples } from './output.js';
import { addPluginCommands } from './plugin-commands.js';

const projectDir = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

function versionOf(folder: string): string {
  return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }).version;
}

const program = new Command('mortise')
  .description('Runs and manages Mortise.')
  .version(versionOf(projectDir), '--version', 'print the version')
  .option('--json', 'print JSON')
  .option('--api-base <url>', 'address of the running server (MORTISE_API_BASE; else as its settings say)')
  .option('--api-key <key>', 'API key (MORTISE_API_KEY)')
  .option('--admin-key <key>', 'admin key (GOVERNANCE_ADMIN_KEY)')
  .exitOverride()
  .configureHelp({ minWidthToWrap: 20 })
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
const environment = createEnvironment({
  projectDir,
  signal: interrupt.signal,
  options: () => program.opts(),
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

// A reader such as `head` may close the pipe early; the command has nothing left to do then.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(exitCode);
  });
}

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

/** Reading what plugins add takes a moment, which the platform's own commands need not wait for. */
async function addCommandsOfPlugins(): Promise<void> {
  const [first] = program.parseOptions(typed.slice(2)).operands;
  const isOwn = program.commands.some((command) => command.name() === first);
  // Only the completion of a shell knows every command.
  if (isOwn && first !== 'completion') return;
  const added = addContributedCommands(program, environment);
  // Help is what people ask for when something does not work.
  await (first === undefined || first === 'help' ? added.catch(() => undefined) : added);
}

try {
  await addCommandsOfPlugins();
  await program.parseAsync(typed);
} catch (error) {
  exitCode = interrupt.signal.aborted
    ? exitCodes.interrupted
    : reportError(error, environment.json || process.argv.includes('--json'), (text) => process.stderr.write(text));
}
process.exitCode = exitCode;
