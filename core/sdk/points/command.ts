import type { CallContext } from '../context.js';
import type { ExtensionPointDeclaration } from './point.js';

/** Give them in the manifest: the command line reads them where the plugin does not run. */
export interface CommandFacts {
  /** Words after `mortise`, e.g. `memory reconcile`. */
  readonly usage: string;
  readonly summary: string;
  readonly examples?: readonly string[];
  readonly aliases?: readonly string[];
  readonly options?: readonly { readonly flags: string; readonly summary: string }[];
  /** Also runs without a server: its plugin, and what that needs, are booted without a port. Others need the server. */
  readonly offline?: boolean;
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
    },
  },
  functions: ['run'],
  timeoutMs: 0,
  failure: 'a message and a non-zero exit',
};
