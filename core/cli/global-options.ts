import { type Command, Option } from 'commander';
import { locales, translated } from './translated.js';

/** The values of the global options. */
export interface GlobalOptions {
  readonly json?: boolean;
  readonly apiBase?: string;
  readonly apiKey?: string;
  readonly adminKey?: string;
}

export function addGlobalOptions(command: Command): Command {
  const locale = new Option('--locale <locale>', translated('language: en-US or zh-CN (MORTISE_LOCALE; else en-US)'));
  return command
    .option('--json', translated('print JSON'))
    .addOption(locale.choices([...locales]))
    .option('--api-base <url>', translated('address of the running server (MORTISE_API_BASE; else from its settings)'))
    .option('--api-key <key>', translated('API key (MORTISE_API_KEY)'))
    .option('--admin-key <key>', translated('admin key (GOVERNANCE_ADMIN_KEY)'));
}

/**
 * Lets the called command have options with the names of global ones, which take precedence after its name. All other
 * global options keep their effect there.
 *
 * @param words the words before any unknown option
 */
export function preferOwnOptions(program: Command, words: readonly string[]): void {
  const path = calledPath(program, words);
  const called = path.at(-1);
  if (!called || !program.options.some((option) => declares(called, option))) return;
  program.enablePositionalOptions();
  for (const command of path) {
    command.enablePositionalOptions();
    for (const option of program.options.filter((one) => !declares(command, one))) {
      command.addOption(new Option(option.flags, option.description).hideHelp());
      command.on(`option:${option.name()}`, (value?: string) =>
        program.setOptionValueWithSource(option.attributeName(), value ?? true, 'cli'),
      );
    }
  }
}

/** The groups named by the words, and the command in them. */
function calledPath(program: Command, words: readonly string[]): readonly Command[] {
  const path: Command[] = [];
  for (const word of words) {
    const next = (path.at(-1) ?? program).commands.find((command) => command.name() === word);
    if (!next) break;
    path.push(next);
  }
  return path;
}

function declares({ options }: Command, { long }: Option): boolean {
  return options.some((option) => option.long === long);
}
