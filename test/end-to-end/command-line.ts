import { execFile } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnvironment, nodeFlags } from 'mortise/sdk/testing';

const project = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const mainFile = join(project, 'dist', 'core', 'cli', 'main.js');

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Arguments of Node that run the command line against a server. */
export const commandLine = (origin: string, args: readonly string[]): readonly string[] => [
  ...nodeFlags,
  mainFile,
  '--api-base',
  origin,
  ...args,
];

/** Runs a command against a server, as a process of its own, with `input` at its standard input. */
export function runCommand(
  origin: string,
  args: readonly string[],
  input = '',
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  return new Promise((done) => {
    const options = { env: { ...childEnvironment(), ...env }, timeout: 20_000 };
    const child = execFile(process.execPath, [...commandLine(origin, args)], options, (error, stdout, stderr) =>
      done({ code: error ? Number(child.exitCode ?? -1) : 0, stdout, stderr }),
    );
    child.stdin?.end(input);
  });
}
