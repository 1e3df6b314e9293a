import { MortiseError } from '../sdk/errors.js';

/** The command was used wrongly: exit 2. */
export class CommandError extends MortiseError {
  constructor(message: string, hint: string) {
    super('wrong_usage', message, { status: 400, hint });
  }
}

/** A command of a plugin that could not be run to its end, and what it wants to end with then. */
export class UnfinishedRun extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, cause: unknown) {
    super('The command could not be run to its end.', { cause });
    this.exitCode = exitCode;
  }
}

/** The command needs the server, and there is none: exit 3. */
export function noServer(address: string | undefined): MortiseError {
  return new MortiseError('no_server', `No Mortise server answers${address ? ` at ${address}` : ''}.`, {
    hint: 'Start one with npm start, or name it with --api-base.',
  });
}
