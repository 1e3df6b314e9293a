import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeFlags } from 'mortise/sdk/testing';
import { type Ended, runCli } from '../../core/cli/test/run-cli.js';

const project = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const mainFile = join(project, 'dist', 'core', 'cli', 'main.js');

/** Arguments of Node that run the command line against a server. */
export const commandLine = (origin: string, args: readonly string[]): readonly string[] => [
  ...nodeFlags,
  mainFile,
  '--api-base',
  origin,
  ...args,
];

/** Runs a command against a server, with `input` at its standard input. */
export async function runCommand(
  origin: string,
  args: readonly string[],
  input = '',
  env: Readonly<Record<string, string>> = {},
): Promise<Pick<Ended, 'code' | 'stdout' | 'stderr'>> {
  const { code, stdout, stderr } = await runCli(['--api-base', origin, ...args], env, input);
  return { code, stdout, stderr };
}
