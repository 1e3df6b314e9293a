import { MortiseError } from './errors.js';

/** Why an argument is refused. It is also the code of the error. */
export type ArgumentReason = 'MISSING_REQUIRED_PARAM' | 'INVALID_PARAM_TYPE' | 'INVALID_PARAM_VALUE';

/**
 * The error (status 422) for a tool argument that passed the JSON schema but is not acceptable. It has the form of a
 * schema violation.
 *
 * @param path JSON Pointer into the arguments
 * @param expected the rest of a sentence that begins with the argument's name, such as `must not be blank`
 */
export function argumentError(
  tool: string,
  path: string,
  expected: string,
  reason: ArgumentReason = 'INVALID_PARAM_VALUE',
): MortiseError {
  const message = `${path.slice(1)} ${expected}.`;
  return new MortiseError(reason, message, {
    status: 422,
    details: { category: 'validation', tool, path, expected, errors: [{ path, reason, message }] },
  });
}
