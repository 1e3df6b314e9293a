import type { Problem } from '../messages/plugin-problems.js';
import { MortiseError } from '../sdk/errors.js';

/** Ends a step of a plugin's life with a row of the problem table. */
export class PluginProblem extends MortiseError {
  readonly problem: Problem;

  constructor(shown: Problem, cause?: unknown) {
    super(shown.code, shown.message, { status: 422, hint: shown.hint, cause });
    this.name = 'PluginProblem';
    this.problem = shown;
  }
}
