/** The process that runs a command: its arguments, input and output. */
export interface CallingProcess {
  /** The words after the name of the program. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** Where log lines go instead of the descriptor of the settings. */
  readonly logTo?: { write(line: string): void };
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** Sets the code that the process ends with; the last one counts. */
  exitWith(code: number): void;
}
