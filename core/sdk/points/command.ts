import type { CallContext } from '../context.js';

/** Value of an option: one of some words, a number (`from`, or strictly `above`; `to` is inclusive), or an ISO 8601 time. */
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

interface CommandOption {
  /** `--limit <n>`. Behind the command's name it takes precedence over a global option of the same name. */
  readonly flags: string;
  readonly summary: string;
  /** The value names a file on the caller's machine, or is `-` for standard input; the command receives the text. */
  readonly file?: boolean;
  /** The value is JSON: inline, `@file`, or `-` for standard input. The command receives its text, which is valid JSON. */
  readonly json?: boolean;
  /** The CLI rejects any other value before it sends a request. */
  readonly value?: OptionValue;
}

/** Declare them in the manifest: the CLI reads them without running the plugin. */
export interface CommandFacts {
  /**
   * Words after `mortise`, e.g. `memory reconcile`. The CLI enforces `<list|show>` (the first argument is one of these
   * words) and `(--once | --report)` (exactly one of these options).
   */
  readonly usage: string;
  readonly summary: string;
  readonly examples?: readonly string[];
  readonly aliases?: readonly string[];
  readonly options?: readonly CommandOption[];
  /**
   * Any valid key may run the command at a server; when absent it needs the admin right. The command then gives the
   * caller's principal exactly what the HTTP routes behind it give.
   */
  readonly auth?: 'key';
  /** Also runs without a server: the CLI boots its plugin and that plugin's requirements without a port. */
  readonly offline?: boolean;
  /**
   * Module of the plugin, relative to its code (`client/chat.js`), that runs the command in the caller's process. Its default
   * export is a {@link ClientCommand}. For what one request and one answer cannot do: a terminal UI, a raw stream.
   */
  readonly client?: string;
  /** Exit code when the command could not be completed, e.g. without a database; 1 when absent. */
  readonly failureExit?: 1 | 2;
}

export interface CommandInput {
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, string | boolean | readonly string[]>>;
  readonly json: boolean;
  /** The caller's working directory, for commands whose arguments name files; absent over an older client. */
  readonly cwd?: string;
  /** Present when the output is read on a terminal. */
  readonly terminal?: { readonly columns: number };
  /** `again.resume` of the previous result of the same command. */
  readonly resume?: string;
}

/** Progress of long work, shown while the command runs. */
export interface CommandProgress {
  readonly phase: string;
  readonly done: number;
  /** 0 when it is not known yet. */
  readonly total: number;
  /** Per second. */
  readonly rate?: number | null;
  readonly etaSeconds?: number | null;
}

/** A part of a text and how a terminal shows it. */
export interface TextSpan {
  readonly text: string;
  readonly style?: 'strong' | 'dim' | 'mark';
  /** Links to a line of a file on the machine of the command. */
  readonly file?: { readonly path: string; readonly line: number };
}

export interface CommandResult {
  /** 0: success; 1: refused or findings; 2: wrong usage. */
  readonly exitCode: number;
  /** For `--json`. */
  readonly data: unknown;
  /** For people. Control characters are replaced; a text from outside that must not begin a line needs `oneLine`. */
  readonly text: string;
  /**
   * Rows for people, printed before the text: each cell is one line, and the widest are cut to fit the terminal. The
   * columns of `whole` are not cut: ids and keys, the first column when absent.
   */
  readonly table?: {
    readonly head: readonly string[];
    readonly rows: readonly (readonly string[])[];
    readonly whole?: readonly number[];
  };
  /** For people and pipes: the text is printed byte for byte, without a line break of the command line at its end. */
  readonly verbatim?: boolean;
  /** The same text in parts, for a terminal; together their texts are `text`. */
  readonly spans?: readonly TextSpan[];
  /** Additional text for people, printed on stderr. */
  readonly detail?: string;
  /**
   * The work continues: the CLI shows the progress, prints `text` if there is any, and runs the command again with `resume`
   * after this time, so that a command reports progress with and without a server.
   */
  readonly again?: { readonly resume: string; readonly afterMs: number; readonly progress?: CommandProgress };
}

/** What a command that runs in the caller's process works with. */
export interface CommandCaller {
  /** Address of the server's API, without a slash at its end; whether it answers is not known. */
  readonly apiBase: string;
  readonly apiKey: string | undefined;
  /** The command that was typed: one module may run several. */
  readonly command: CommandFacts & { readonly key: string };
  /**
   * A request with the caller's key. The body is sent as JSON; a `FormData` as a form.
   * @throws MortiseError with the server's code and hint; `cli_error` without an answer
   */
  request<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** The same, with the body of the answer as it arrives. */
  stream(method: string, path: string, body?: unknown): AsyncIterable<Uint8Array>;
  /** Aborted by SIGTERM, and by Ctrl-C outside the raw mode of a terminal. */
  readonly signal: AbortSignal;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Runs in the process of the command line, with the rights of the caller's key. */
export type ClientCommand = (input: CommandInput, caller: CommandCaller) => Promise<CommandResult>;

/** The server's side of a command that has a `client`: what a caller gets that cannot run it itself. */
export function runsAtCaller(facts: CommandFacts): Command {
  const text = `mortise ${facts.usage.split(' [')[0]} runs in the terminal where it is typed; update the command line there.`;
  return { ...facts, isRead: () => true, run: async () => ({ exitCode: 1, data: { error: 'runs_at_caller' }, text }) };
}

export interface Command extends CommandFacts {
  run(input: CommandInput, ctx: CallContext): Promise<CommandResult>;
  /** Whether an input changes nothing. Reads are not audited; without this function every input counts as a change. */
  isRead?(input: CommandInput): boolean;
}

/**
 * The result for arguments that do not match the usage.
 * @param reason a sentence about a rule that the usage line does not show
 */
export function wrongUsage({ usage }: Pick<CommandFacts, 'usage'>, reason?: string): CommandResult {
  const text = `Usage: mortise ${usage}`;
  if (reason === undefined) return { exitCode: 2, data: { error: 'usage', usage }, text };
  return { exitCode: 2, data: { error: 'usage', reason, usage }, text: `${reason}\n${text}` };
}
