import { explainMembers, MortiseError } from 'mortise/sdk';

const sentences = {
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
  not_utf8: 'target file is not UTF-8 text: convert it to UTF-8 first',
} as const;

type InputProblem = keyof typeof sentences;

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

export const explainItems = explainMembers({
  path: sentences.path_required,
  start: sentences.start,
  end: sentences.end,
  content: sentences.content,
  pattern: sentences.pattern,
});
