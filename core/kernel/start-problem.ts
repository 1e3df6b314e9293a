import { type Problem, problem } from '../messages/plugin-problems.js';
import { isCodedError, MortiseError } from '../sdk/errors.js';
import { explainError } from './describe-error.js';

/** A coded error keeps its code, so that others can tell a dead database from a mistake in the plugin. */
export function startProblem(error: unknown, codeFolder: string | undefined): Problem {
  if (!isCodedError(error)) return problem('start_failed', explainError(error, codeFolder));
  const shown = problem('start_failed', explainError(error.message, codeFolder));
  const hint = error instanceof MortiseError ? error.hint : undefined;
  return { code: error.code, message: shown.message, hint: hint ?? shown.hint };
}
