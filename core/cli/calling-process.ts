/** The process that runs a command: its arguments, input and output. */
export interface CallingProcess {
  /** The arguments after the program's name. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** Receives log lines instead of the configured file descriptor. */
  readonly logTo?: { write(line: string): void };
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  /** Sets the exit code of the process; the last call wins. */
  exitWith(code: number): void;
}
