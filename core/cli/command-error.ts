import { MortiseError } from '../sdk/errors.js';

/** The command was used wrongly: exit 2. */
export class CommandError extends MortiseError {
  constructor(message: string, hint: string) {
    super('wrong_usage', message, { status: 400, hint });
  }
}

/** The command needs the server, and there is none: exit 3. */
export function noServer(): MortiseError {
  return new MortiseError('no_server', 'No Mortise server answers.', {
    hint: 'Start one with npm start, or name it with --api-base.',
  });
}
