import { execFile } from 'node:child_process';

export interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, whatever it ends with. @throws when there is no such program. */
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
