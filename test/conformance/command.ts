import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program until it exits, with any exit code. @throws when the program does not exist. */
export function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { env: { ...env }, timeout: 60_000, maxBuffer: 1e7 }, (error, stdout, stderr) => {
      const exitCode = error ? error.code : 0;
      if (typeof exitCode === 'number') resolve({ exitCode, stdout, stderr });
      else reject(error);
    });
  });
}

const { resolve } = createRequire(import.meta.url);

/** The script that an installed package runs as the command `name`. */
export function packageProgram(packageName: string, name: string): string {
  const facts = resolve(`${packageName}/package.json`);
  const { bin } = JSON.parse(readFileSync(facts, 'utf8')) as { readonly bin: Readonly<Record<string, string>> };
  const script = bin[name];
  if (script === undefined) throw new Error(`${packageName} has no command "${name}".`);
  return join(dirname(facts), script);
}
