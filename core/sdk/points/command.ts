import type { CallContext } from '../context.js';
import type { ExtensionPointDeclaration } from './point.js';

/** What an option takes: one of some words, a number (`from`, or strictly `above`; `to` included), a time in ISO 8601. */
export type OptionValue =
  | { readonly oneOf: readonly string[] }
  | {
      readonly number: 'whole' | 'any';
      /** 0 when neither it nor `above` is given. */
      readonly from?: number;
      readonly above?: number;
      readonly to?: number;
    }
  | { readonly time: true };

export interface CommandOption {
  /** `--limit <n>` */
  readonly flags: string;
  readonly summary: string;
  /** Its value names a file where the command is typed; the command gets the file's text. */
  readonly file?: boolean;
  /** The command line refuses anything else, by name and with what is allowed, before it asks a server. */
  readonly value?: OptionValue;
}

/** Give them in the manifest: the command line reads them where the plugin does not run. */
export interface CommandFacts {
  /**
   * Words after `mortise`, e.g. `memory reconcile`. The command line holds callers to `<list|show>` (one of these words
   * comes first) and `(--once | --report)` (exactly one of these).
   */
  readonly usage: string;
  readonly summary: string;
  readonly examples?: readonly string[];
  readonly aliases?: readonly string[];
  readonly options?: readonly CommandOption[];
  /** Also runs without a server: its plugin, and what that needs, are booted without a port. Others need the server. */
  readonly offline?: boolean;
  /** What the command line ends with when it could not be run to its end, e.g. for want of the database; 1 when absent. */
  readonly failureExit?: 1 | 2;
}

export interface CommandInput {
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, string | boolean | readonly string[]>>;
  readonly json: boolean;
}

export interface CommandResult {
  /** 0 done, 1 refused or findings, 2 wrong usage. */
  readonly exitCode: number;
  /** For `--json`. */
  readonly data: unknown;
  /** For people. */
  readonly text: string;
  /** For people who want to know more: printed on stderr. */
  readonly detail?: string;
}

export interface Command extends CommandFacts {
  run(input: CommandInput, ctx: CallContext): Promise<CommandResult>;
  /** Whether an input changes nothing. Reads are not audited; without this function no input is taken for one. */
  isRead?(input: CommandInput): boolean;
}

/**
 * The result of a command line that matches no form of the command.
 * @param reason a sentence about a rule that the usage line does not show
 */
export function wrongUsage({ usage }: Pick<CommandFacts, 'usage'>, reason?: string): CommandResult {
  const text = `Usage: mortise ${usage}`;
  if (reason === undefined) return { exitCode: 2, data: { error: 'usage', usage }, text };
  return { exitCode: 2, data: { error: 'usage', reason, usage }, text: `${reason}\n${text}` };
}

export const commandPoint: ExtensionPointDeclaration = {
  name: 'command',
  summary: 'Commands of the CLI; selected by their words.',
  dispatch: 'selected',
  factsSchema: {
    type: 'object',
    required: ['usage', 'summary'],
    properties: {
      usage: { type: 'string', minLength: 1, maxLength: 200 },
      summary: { type: 'string', minLength: 1, maxLength: 400 },
      examples: { type: 'array', items: { type: 'string' } },
      aliases: { type: 'array', items: { type: 'string' } },
      options: { type: 'array', items: { type: 'object', required: ['flags', 'summary'] } },
      offline: { type: 'boolean' },
      failureExit: { enum: [1, 2] },
    },
  },
  functions: ['run'],
  optionalFunctions: ['isRead'],
  timeoutMs: 0,
  failure: 'a message and a non-zero exit',
};
