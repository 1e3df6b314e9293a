import { MortiseError } from 'mortise/sdk';

/** What these tools find wrong themselves; what the artifact store finds comes with the same kind of code. */
const errors = {
  MISSING_REQUIRED_PARAMETER: 'One of {parameter} is needed.',
  INVALID_URI: 'The URI names nothing that is kept here.',
  NOT_FOUND: 'There is no such {what}.',
  PAYLOAD_TOO_LARGE: 'The content is larger than was asked for.',
  CHECKSUM_MISMATCH: 'The content does not have the expected sha256.',
} as const;

/** A call that is answered with `ok: false`. */
export function toolError(code: keyof typeof errors, facts: Readonly<Record<string, unknown>> = {}): MortiseError {
  const message = errors[code].replaceAll(/\{(\w+)\}/g, (_, name: string) => String(facts[name] ?? name));
  return new MortiseError(code, message, { status: 400, details: facts });
}

/** Codes that are answered with `ok: false`; every other error is one of the call itself. */
const answered: ReadonlySet<string> = new Set([
  ...Object.keys(errors),
  'PATH_TRAVERSAL_ERROR',
  'ARTIFACT_WRITE_DISABLED',
  'ARTIFACT_OVERWRITE_DENIED',
  'ARTIFACT_SIZE_LIMIT_EXCEEDED',
  'OBJECT_STORE_NOT_CONFIGURED',
  'OBJECT_STORE_ERROR',
  'ARTIFACT_WRITE_ERROR',
  'ARTIFACT_NOT_FOUND',
  'ARTIFACT_READ_ERROR',
]);

export function isAnswered(error: unknown): error is MortiseError {
  return error instanceof MortiseError && answered.has(error.code);
}

/** An argument that a schema cannot refuse, in the words of one that can. `path` is a JSON Pointer into the arguments. */
export function argumentError(tool: string, path: string, expected: string): MortiseError {
  const message = `${path.slice(1)} ${expected}.`;
  const issues = [{ path, reason: 'INVALID_PARAM_VALUE', message }];
  return new MortiseError('INVALID_PARAM_VALUE', message, {
    status: 422,
    details: { category: 'validation', tool, path, expected, errors: issues },
  });
}
