import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, CommanderError } from 'commander';
import { MortiseError } from '../sdk/errors.js';
import { createClient } from './client.js';
import { addConfigCommand } from './config-command.js';
import { addPluginCommands } from './plugin-commands.js';
import { addStatusCommand } from './status-command.js';

const projectDir = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

/** What every command gets: the project, the server, and one way to answer. */
export interface CommandEnvironment {
  readonly projectDir: string;
  client(): ReturnType<typeof createClient>;
  /** Prints the text for people, or the data with `--json`. */
  print(text: string, data: unknown): void;
  /** Ends with this code once the command is done: 0 done, 1 refused or findings, 3 no server. */
  exitWith(code: number): void;
}

const program = new Command('mortise')
  .description('Runs and manages Mortise.')
  .option('--json', 'print JSON')
  .option(
    '--api-base <url>',
    'address of the running server',
    process.env.MORTISE_API_BASE ?? `http://127.0.0.1:${process.env.MORTISE_PORT ?? '8088'}`,
  )
  .option('--api-key <key>', 'API key (MORTISE_API_KEY)')
  .option('--admin-key <key>', 'admin key (GOVERNANCE_ADMIN_KEY)')
  .showHelpAfterError('(mortise --help shows the commands)')
  .exitOverride()
  .addHelpText(
    'after',
    `
Examples:
  mortise start                           start the server (npm start does the same)
  mortise plugin list                     every plugin with its state
  mortise plugin enable tool-echo         enable a plugin without a restart
  mortise plugin doctor --json            findings, for a script
  mortise config mcp-server               effective values and where they come from`,
  );

const options = (): { json?: boolean; apiBase: string; apiKey?: string; adminKey?: string } => program.opts();
let exitCode = 0;
const environment: CommandEnvironment = {
  projectDir,
  client: () =>
    createClient({
      base: options().apiBase.replace(/\/$/, ''),
      apiKey: options().apiKey ?? process.env.MORTISE_API_KEY,
      adminKey: options().adminKey ?? process.env.GOVERNANCE_ADMIN_KEY,
    }),
  print: (text, data) => process.stdout.write(`${options().json ? JSON.stringify(data) : text}\n`),
  exitWith: (code) => {
    exitCode = code;
  },
};

addPluginCommands(program, environment);
addConfigCommand(program, environment);
addStatusCommand(program, environment);
program.command('start').description('start the server; Ctrl-C drains it').allowUnknownOption();

/** One line for people and one object for scripts; never a stack. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const coded =
    error instanceof MortiseError
      ? error
      : new MortiseError('cli_error', error instanceof Error ? error.message : String(error));
  if (options().json) {
    const { code, message, details, hint, status } = coded;
    process.stderr.write(`${JSON.stringify({ error: { code, message, details, hint }, status })}\n`);
  } else {
    process.stderr.write(`[${coded.code}] ${coded.message}\n${coded.hint ? `  ${coded.hint}\n` : ''}`);
  }
  return coded.code === 'no_server' ? 3 : 1;
}

try {
  await program.parseAsync(process.argv);
} catch (error) {
  exitCode = report(error);
}
process.exitCode = exitCode;
