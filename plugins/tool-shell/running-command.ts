import {
  Command,
  type CommandLine,
  type RunningCommand,
  type StartOptions,
  startProgram,
} from 'mortise/contracts/tool-shell';
import { shellError } from './errors.js';

/** Bytes of output. */
export const maxOutput = 16 * 1_024;

/** @throws tool_runtime_unavailable when the program cannot be started */
export async function startCommand(line: CommandLine, tty: boolean, options: StartOptions): Promise<RunningCommand> {
  if (tty) return startInTerminal(line, options);
  return startProgram(line, options).catch((cause: unknown) => {
    throw shellError('tool_runtime_unavailable', 'the shell could not be started', { cause });
  });
}

async function startInTerminal(line: CommandLine, options: StartOptions): Promise<RunningCommand> {
  const { cwd, env } = options;
  // Binaries exist for the usual platforms only; elsewhere commands run without a terminal.
  const pty = await import('@lydell/node-pty').catch((cause: unknown) => {
    throw shellError('tool_runtime_unavailable', 'this machine has no terminals for commands', {
      hint: 'Run the command without tty.',
      cause,
    });
  });
  const terminal = pty.spawn(line.file, [...line.args], {
    name: 'xterm',
    cols: 120,
    rows: 40,
    cwd,
    env: { ...env, TERM: 'xterm' },
    encoding: null,
  });
  const command = new Command(terminal.pid, options, (chars) => terminal.write(chars));
  terminal.onData((data: string | Buffer) => command.wrote(typeof data === 'string' ? Buffer.from(data) : data));
  terminal.onExit(({ exitCode, signal }) => command.exited(signal ? 128 + signal : exitCode));
  return command;
}
