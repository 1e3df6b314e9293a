import { fileURLToPath } from 'node:url';
import { exitCodeOfSignal } from './exit-code.mjs';
import { Failure, Interrupted } from './failure.mjs';
import { standardError } from './say.mjs';

/** The folder of package.json, regardless of the working directory. */
export const projectRoot = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Runs a command of the launcher and ends the process with its exit code.
 * A Failure is printed as one sentence; any other error is a defect and printed with its stack.
 * @param {() => Promise<number>} command
 */
export function runEntry(command) {
  command().then(
    (code) => process.exit(code),
    (error) => {
      if (error instanceof Interrupted) process.exit(exitCodeOfSignal(error.signal));
      standardError.write(`mortise: ${error instanceof Failure ? error.message : error.stack}\n`);
      process.exit(1);
    },
  );
}
