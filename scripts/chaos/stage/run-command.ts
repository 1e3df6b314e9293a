import { execFile } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnvironment, type ServerProcessOptions } from 'mortise/sdk/testing';

const projectDir = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..');

interface CommandOutcome {
  readonly exitCode: number;
  /** Parsed output of `--json`; null when it is not JSON. */
  readonly data: unknown;
  readonly output: string;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Runs a `mortise` command on the folder of a stopped server. */
export function runCommand(
  folder: string,
  { database, env }: ServerProcessOptions,
  args: readonly string[],
): Promise<CommandOutcome> {
  const cli = join(projectDir, 'dist', 'core', 'cli', 'main.js');
  const options = {
    cwd: folder,
    maxBuffer: 64 * 1_048_576,
    env: {
      ...childEnvironment(),
      MORTISE_DATA_DIR: join(folder, 'data'),
      MORTISE_CONFIG_DIR: join(folder, 'config'),
      MORTISE_PLUGINS_DIR: join(folder, 'plugins'),
      MORTISE_PLUGINS_FILE: join(folder, 'plugins.json'),
      MORTISE_WORKSPACE_DIR: folder,
      ...database,
      ...env,
    },
  };
  return new Promise((done) => {
    execFile(process.execPath, [cli, '--json', ...args], options, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      done({ exitCode, data: parsed(stdout), output: `${stdout}${stderr}` });
    });
  });
}
