import { MortiseError } from 'mortise/sdk';

const sentences = {
  items: 'tool input items must be a non-empty array of objects',
  path_required: 'tool input path is required',
  path_invalid: 'tool input path is invalid',
  start: 'tool input start must be an integer >= 1',
  end: 'tool input end must be an integer >= 1',
  range_invalid: 'tool input line range is invalid',
  range_too_large: 'tool input line range is too large',
  out_of_bounds: 'tool input line range is out of file bounds',
  content: 'tool input content is required',
  pattern: 'tool input pattern is required',
  missing: 'target file does not exist',
  too_large: 'target file is too large',
} as const;

export type InputProblem = keyof typeof sentences;

export function inputError(problem: InputProblem, details?: Readonly<Record<string, unknown>>): MortiseError {
  return invalidInput(sentences[problem], details);
}

/** An `invalid_tool_input` with a sentence of its own. */
export function invalidInput(message: string, details?: Readonly<Record<string, unknown>>): MortiseError {
  return new MortiseError('invalid_tool_input', message, {
    status: 400,
    ...(details === undefined ? {} : { details }),
  });
}

/** The sentence for a member that is missing or has another type. */
const members: Readonly<Record<string, InputProblem>> = {
  items: 'items',
  path: 'path_required',
  start: 'start',
  end: 'end',
  content: 'content',
  pattern: 'pattern',
};

/** `explain` of tools with items: the documented sentence of the first violation. */
export function explainItems(errors: readonly { readonly path: string }[]): string | undefined {
  const [first] = errors;
  const member = first?.path.split('/').at(-1) ?? '';
  const problem = /^\d+$/.test(member) ? 'items' : members[member];
  return problem && sentences[problem];
}
