import { lostNumber, MortiseError } from 'mortise/sdk';

export type ArgumentReason = 'MISSING_REQUIRED_PARAM' | 'INVALID_PARAM_TYPE' | 'INVALID_PARAM_VALUE';

/** An argument that a schema cannot refuse, refused in the same words. `path` is a JSON Pointer into the arguments. */
export function argumentError(
  tool: string,
  path: string,
  expected: string,
  reason: ArgumentReason = 'INVALID_PARAM_VALUE',
) {
  const message = `${path.slice(1)} ${expected}.`;
  return new MortiseError(reason, message, {
    status: 422,
    details: { category: 'validation', tool, path, expected, errors: [{ path, reason, message }] },
  });
}

/** Nothing is kept as something else than was sent. @throws MortiseError `INVALID_PARAM_VALUE`. */
export function refuseLostNumbers(tool: string, name: string, value: unknown): void {
  const path = lostNumber(value, `/${name}`);
  if (path !== undefined) throw argumentError(tool, path, 'must be a number that JSON can keep');
}
